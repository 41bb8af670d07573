"""A real broker with every kind of protection on listeners of their own: TLS, client certificates, SASL, ACLs."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from confluent_kafka.admin import AdminClient, ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion

from millpond.embedded.broker import Broker
from millpond.embedded.ports import free_port
from millpond.embedded.settings import HOST
from millpond.jvm.locate import broker_classpath, find_java
from tests.certificates import Authority

USER, PASSWORD, STRANGER = "ann", 'hu"sh\\1', "bob"
"""`USER` may do everything, `STRANGER`, who has the same password, nothing."""
LISTENERS = {
    "TLS": "SSL",
    "MUTUAL": "SSL",
    "MISNAMED": "SSL",
    "SASLTLS": "SASL_SSL",
    "SASLPLAIN": "SASL_PLAINTEXT",
}
"""Beside PLAINTEXT. MUTUAL wants a client certificate; MISNAMED shows the certificate of another host."""


class SecuredBroker(Broker):
    """`Broker` with more listeners; `uris` is that of PLAINTEXT, `at(listener)` of the others."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, 0, broker_classpath(), find_java())
        self.ports = {name: free_port() for name in LISTENERS}
        self.authority = Authority()
        self.client = self.authority.sign("client")

    def at(self, listener: str) -> str:
        return f"{HOST}:{self.ports[listener]}"

    def start(self, timeout: float = 60, meanwhile: Callable[[], object] = lambda: None) -> None:
        super().start(timeout, meanwhile)
        admin = AdminClient({"bootstrap.servers": self.uris})
        changes = [
            UserScramCredentialUpsertion(USER, ScramCredentialInfo(mechanism, 4096), PASSWORD.encode())
            for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512)
        ]
        for change in changes:
            admin.alter_user_scram_credentials([change])[USER].result(30)

    def _format(self) -> str:
        cluster = super()._format()
        with (self.data_dir / "server.properties").open("a") as config:
            config.writelines(f"{key}={_line(value)}\n" for key, value in self._settings().items())
        return cluster

    def _settings(self) -> dict[str, str]:
        plain, controller = f"PLAINTEXT://{HOST}:{self.port}", f"CONTROLLER://{HOST}:{self._controller_port}"
        more = ",".join(f"{name}://{self.at(name)}" for name in LISTENERS)
        protocols = {"PLAINTEXT": "PLAINTEXT", "CONTROLLER": "PLAINTEXT", **LISTENERS}
        return {
            "listeners": f"{plain},{controller},{more}",
            "advertised.listeners": f"{plain},{more}",
            "listener.security.protocol.map": ",".join(f"{k}:{v}" for k, v in protocols.items()),
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": f"User:ANONYMOUS;User:{USER};User:CN=client",
            **self._certificates(),
            **_logins("sasltls"),
            **_logins("saslplain"),
        }

    def _certificates(self) -> dict[str, str]:
        own, other = self.authority.sign("broker", HOST, "localhost"), self.authority.sign("other", "elsewhere.example")
        found: dict[str, str] = {}
        for listener, signed in {"tls": own, "mutual": own, "sasltls": own, "misnamed": other}.items():
            found |= {
                f"listener.name.{listener}.ssl.keystore.type": "PEM",
                f"listener.name.{listener}.ssl.keystore.certificate.chain": signed.certificate,
                f"listener.name.{listener}.ssl.keystore.key": signed.key,
            }
        return found | {
            "listener.name.mutual.ssl.client.auth": "required",
            "listener.name.mutual.ssl.truststore.type": "PEM",
            "listener.name.mutual.ssl.truststore.certificates": self.authority.pem,
        }


def _logins(listener: str) -> dict[str, str]:
    """PLAIN, SCRAM, and OAUTHBEARER that takes tokens without a signature."""
    module, name = "org.apache.kafka.common.security", f"listener.name.{listener}"
    password = PASSWORD.replace("\\", "\\\\").replace('"', '\\"')
    users = f'user_{USER}="{password}" user_{STRANGER}="{password}"'
    return {
        f"{name}.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
        f"{name}.plain.sasl.jaas.config": f"{module}.plain.PlainLoginModule required {users};",
        f"{name}.scram-sha-256.sasl.jaas.config": f"{module}.scram.ScramLoginModule required;",
        f"{name}.scram-sha-512.sasl.jaas.config": f"{module}.scram.ScramLoginModule required;",
        f"{name}.oauthbearer.sasl.jaas.config": f"{module}.oauthbearer.OAuthBearerLoginModule required"
        ' unsecuredLoginStringClaim_sub="broker";',
    }


def _line(value: str) -> str:
    """As a Java properties file has it."""
    return value.replace("\\", "\\\\").replace("\n", "\\n")


class _Tokens(BaseHTTPRequestHandler):
    """Answers client credentials with a token without a signature."""

    def do_POST(self) -> None:
        now = int(time.time())
        token = f"{_part({'alg': 'none'})}.{_part({'sub': USER, 'iat': now, 'exp': now + 600, 'scope': 'kafka'})}."
        answer = {"access_token": token, "token_type": "Bearer", "expires_in": 600}
        good = base64.b64encode(b"millpond:hush").decode() in self.headers.get("authorization", "")
        body = json.dumps(answer if good else {"error": "invalid_client"}).encode()
        self.send_response(200 if good else 401)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Not to standard error."""


def _part(claims: dict[str, object]) -> str:
    return base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")


@contextmanager
def token_endpoint() -> Iterator[str]:
    """The address of an identity provider for the client `millpond` with the secret `hush`."""
    server = ThreadingHTTPServer((HOST, 0), _Tokens)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://{HOST}:{server.server_address[1]}/token"
    server.shutdown()
    server.server_close()
    thread.join(5)
