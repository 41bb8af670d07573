"""Nodes that Millpond's grammar adds to sqlglot's tree."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp


class SourceProperties(exp.Expression):
    """A source's own WITH list: `properties` is a tuple of `millpond.sql.statements.Property`."""

    arg_types: ClassVar[dict[str, bool]] = {"properties": True}


class WindowSource(exp.Expression):
    """TUMBLE | HOP | CUMULATE over a relation, standing where a table stands.

    `this`: the source (exp.Table or exp.Subquery); `kind`: 'TUMBLE' | 'HOP' | 'CUMULATE';
    `size` and `step` (HOP's ADVANCE BY, CUMULATE's STEP): whole milliseconds as int;
    `alias`: exp.TableAlias;
    `source_properties`: SourceProperties; `joins` as on exp.Table.
    """

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "kind": True,
        "size": True,
        "step": False,
        "alias": False,
        "source_properties": False,
        "joins": False,
    }


class Within(exp.Expression):
    """How far apart in time the rows of an interval join may be, in whole milliseconds as int; on exp.Join.

    The right row is at most `before` earlier and `after` later than the left one; `grace` is waited longer for rows
    that come late, None: as long as the join does by itself.
    """

    arg_types: ClassVar[dict[str, bool]] = {"before": True, "after": True, "grace": False}


class FieldAccess(exp.Expression):
    """`struct->field`: `this` is the struct, `field` an exp.Identifier."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "field": True}
