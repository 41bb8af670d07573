"""Ids of statements: clients parse them as UUIDs."""

from __future__ import annotations

import uuid

from millpond.api.deltastream.statements import statement_id


def test_a_statement_id_is_a_random_uuid() -> None:
    ids = [statement_id() for _ in range(200)]
    assert len(set(ids)) == 200
    for made in ids:
        parsed = uuid.UUID(made)
        assert (str(parsed), parsed.version, parsed.variant) == (made, 4, uuid.RFC_4122)
