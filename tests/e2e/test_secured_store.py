"""A query through Spark from a store with TLS and SCRAM into the embedded one, and back; made by the shell."""

from __future__ import annotations

import io
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from millpond.cli.connection import Connection
from millpond.cli.output import OutputFormat
from millpond.cli.script import run_script
from tests.e2e.server_process import ServerProcess
from tests.secured_broker import PASSWORD, USER, SecuredBroker

pytestmark = [pytest.mark.spark, pytest.mark.broker, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def secured() -> Iterator[SecuredBroker]:
    with tempfile.TemporaryDirectory(prefix="millpond-secured-", ignore_cleanup_errors=True) as folder:
        made = SecuredBroker(Path(folder))
        try:
            made.start()
            yield made
        finally:
            made.stop()


def test_rows_go_from_a_store_with_scram_and_tls_into_one_without_and_back(
    server: ServerProcess, secured: SecuredBroker, database: str, tmp_path: Path
) -> None:
    (tmp_path / "ca.pem").write_text(secured.authority.pem)
    (tmp_path / "secret.properties").write_text(f"kafka.sasl.password={PASSWORD}\n")
    store = f"secured_{uuid.uuid4().hex[:8]}"
    out, err = io.StringIO(), io.StringIO()
    create = (
        f"CREATE STORE {store} WITH ('type' = KAFKA, 'uris' = '{secured.at('SASLTLS')}',"
        " 'tls.ca_cert_file' = '@ca.pem',"
        f" 'kafka.sasl.hash_function' = SHA512, 'kafka.sasl.username' = '{USER}',"
        " 'config_file' = './secret.properties');"
    )
    code = run_script(Connection(server.url, folders=(tmp_path,)), create, OutputFormat.JSON, out, err)
    assert (code, err.getvalue()) == (0, "")
    counts = "'topic.partitions' = 1, 'topic.replicas' = 1, 'value.format' = 'json'"
    for statement in (
        f"CREATE STREAM orders (id INTEGER, what VARCHAR) WITH ('store' = '{store}', {counts})",
        f"CREATE STREAM here WITH ('store' = 'kafka', {counts}, 'topic' = 'here_{store}') AS SELECT * FROM orders",
        f"CREATE STREAM back WITH ('store' = '{store}', {counts}) AS SELECT id, upper(what) AS what FROM here",
        "CREATE MATERIALIZED VIEW counted WITH ('store' = 'kafka') AS"
        " SELECT what, COUNT(*) AS n FROM back GROUP BY what",
        "INSERT INTO orders VALUES (1, 'tea'), (2, 'tea'), (3, 'milk')",
    ):
        server.sql(statement, database=database)
    server.wait_for(f"SELECT what, n FROM {database}.public.counted ORDER BY what", [["MILK", "1"], ["TEA", "2"]])
    assert PASSWORD not in server.log
    files = [path for path in server.data_dir.rglob("*") if path.is_file()]
    assert [path for path in files if PASSWORD.encode() in path.read_bytes()] == []
