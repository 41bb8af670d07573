"""rowtime(), rowkey() and rowmeta(): a record's own time, key and place."""

from __future__ import annotations

from collections.abc import Sequence

from millpond.errors import MillpondError
from millpond.plan.calls import call
from millpond.plan.expressions import Expr, Literal
from millpond.plan.nodes import KEY, OFFSET, PARTITION, ROWTIME, TOPIC
from millpond.plan.scope import Scope, Source
from millpond.types import VARCHAR

ROW_FUNCTIONS = ("rowtime", "rowkey", "rowmeta")


def row_function(name: str, qualifier: Sequence[str], scope: Scope) -> Expr:
    """`name([alias])` over the hidden columns of the source that is meant."""
    if len(qualifier) > 1 or "" in qualifier:
        raise MillpondError("WRONG_ARGUMENTS", name=name.upper(), given="...", takes=f"{name}([relation])")
    source = scope.source_of_row(qualifier)
    if name == "rowtime":
        return call("unix_millis", [source.hidden_column(ROWTIME)])
    if name == "rowkey":
        return _key(source)
    return call("rowmeta", [source.hidden_column(c) for c in (TOPIC, PARTITION, OFFSET)])


def _key(source: Source) -> Expr:
    if source.key_type is None:
        return Literal(VARCHAR, None)
    binary = source.key_type.name in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")
    return call("integer_key" if binary else "text_key", [source.hidden_column(KEY)])
