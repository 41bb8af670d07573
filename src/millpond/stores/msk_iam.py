"""Tokens for Amazon MSK: a request to its service signed with AWS credentials, which the brokers verify.

The signature is botocore's; its credentials are those of the default chain (environment, profile, container,
instance), or of a role that they may take on.
"""

from __future__ import annotations

import base64
import time
from typing import Any
from urllib.parse import urlencode

SECONDS = 900
"""How long a token is good for; MSK takes no longer ones."""


def token(region: str, role: str | None, _config: str = "") -> tuple[str, float]:
    """A token and the epoch seconds at which it ends, as librdkafka's `oauth_cb` gives them.

    Raises RuntimeError if there are no credentials: librdkafka takes the text as the reason of the failed login.
    """
    credentials = _credentials(region, role)
    if credentials is None:
        raise RuntimeError("there are no AWS credentials in the environment of the server")
    return signed(credentials, region), time.time() + SECONDS


def signed(credentials: Any, region: str) -> str:
    """The signed request as a token: its URL in base64 without padding."""
    from botocore.auth import SigV4QueryAuth
    from botocore.awsrequest import AWSRequest

    query = urlencode({"Action": "kafka-cluster:Connect"})
    request = AWSRequest("GET", f"https://kafka.{region}.amazonaws.com/?{query}")
    SigV4QueryAuth(credentials, "kafka-cluster", region, expires=SECONDS).add_auth(request)
    url = f"{request.url}&{urlencode({'User-Agent': 'millpond'})}"
    return base64.urlsafe_b64encode(url.encode()).decode().rstrip("=")


def _credentials(region: str, role: str | None) -> Any:
    """Of the default chain, or of `role`; None if there are none."""
    import botocore.session

    session = botocore.session.get_session()
    if role is None:
        return session.get_credentials()
    from botocore.credentials import Credentials

    sts = session.create_client("sts", region_name=region)
    taken = sts.assume_role(RoleArn=role, RoleSessionName="millpond")["Credentials"]
    return Credentials(taken["AccessKeyId"], taken["SecretAccessKey"], taken["SessionToken"])
