"""Files that a statement names are read by the shell and sent along."""

from __future__ import annotations

from pathlib import Path

import pytest

from millpond.cli.attachments import attachments
from millpond.cli.connection import Connection
from millpond.errors import MillpondError
from tests.api.conftest import RunningServer
from tests.api.fake_engine import FakeEngine, created

CREATE = "CREATE STORE s WITH ('type' = KAFKA, 'tls.ca_cert_file' = '@certs/ca.pem', 'config_file' = './k.properties')"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "certs").mkdir()
    (tmp_path / "certs" / "ca.pem").write_bytes(b"ca")
    (tmp_path / "k.properties").write_bytes(b"tls.client.key_file = k.key\nkafka.sasl.password=x\n")
    (tmp_path / "k.key").write_bytes(b"\x00\xff\r\n--")
    return tmp_path


def test_files_are_found_beside_the_script_with_those_that_a_property_file_names(folder: Path) -> None:
    assert attachments(CREATE, [folder]) == {
        "certs/ca.pem": b"ca",
        "./k.properties": (folder / "k.properties").read_bytes(),
        "k.key": b"\x00\xff\r\n--",
    }


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT 'CREATE STORE' FROM t WHERE 'file' = '@x'",
        'INSERT INTO ENTITY e VALUE(\'{"file": "@x"}\')',
        "CREATE STORE s WITH ('type' = KAFKA, 'uris' = 'a:1')",
        "CREATE STORE s WITH ('tls.ca_cert_file' = '-----BEGIN CERTIFICATE-----')",
    ],
)
def test_other_statements_name_no_files(statement: str) -> None:
    assert attachments(statement) == {}


def test_comments_may_stand_before_and_a_missing_file_is_named() -> None:
    with pytest.raises(MillpondError) as caught:
        attachments("-- first\n/* x */ create  descriptor_source d with ('file' = '@nowhere.desc')")
    assert (caught.value.name, caught.value.params["path"]) == ("FILE_NOT_READABLE", "nowhere.desc")


def test_they_reach_the_server_byte_for_byte(server: RunningServer, engine: FakeEngine, folder: Path) -> None:
    engine.answer(CREATE, created("store", "s"))
    for result in Connection(server.url, folders=(folder,)).run(CREATE):
        list(result.changes)
    assert engine.calls[-1].attachments == attachments(CREATE, [folder])
