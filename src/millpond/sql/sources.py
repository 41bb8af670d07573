"""FROM and JOIN: relations, windows, sub-queries and UNNEST, each with its alias and its own WITH list."""

from __future__ import annotations

from sqlglot import exp

from millpond.sql import expressions, select
from millpond.sql.cursor import Cursor
from millpond.sql.names import identifier_node
from millpond.sql.nodes import SourceProperties, WindowSource, Within
from millpond.sql.properties import with_list

_MILLISECONDS = {"MILLISECOND": 1, "SECOND": 1_000, "MINUTE": 60_000, "HOUR": 3_600_000, "DAY": 86_400_000}
_STEPS: dict[str, tuple[str, ...]] = {"TUMBLE": (), "HOP": ("ADVANCE", "BY"), "CUMULATE": ("STEP",)}
_SIDES = ("LEFT", "RIGHT", "FULL")


def source(cursor: Cursor) -> exp.Expr:
    """One source with its alias and properties."""
    tree = _relation(cursor)
    name = select.alias(cursor)
    if name is not None:
        tree.set("alias", exp.TableAlias(this=name))
        if cursor.at("("):
            cursor.unsupported("Names for the columns of this source", "Use AS in its SELECT list.")
    if cursor.at("WITH", "("):
        tree.set("source_properties", SourceProperties(properties=with_list(cursor)))
    if cursor.at("MATCH_RECOGNIZE"):
        cursor.fail()
    return tree


def _relation(cursor: Cursor) -> exp.Expr:
    if select.at_query(cursor):
        return _subquery(cursor)
    if cursor.key() in _STEPS and cursor.key(1) == "(":
        return _window(cursor)
    if cursor.at("UNNEST", "("):
        cursor.unsupported("UNNEST here", "Write FROM relation CROSS JOIN UNNEST(array) AS t(v).")
    if cursor.at("LATERAL") or cursor.at("TABLE", "(") or cursor.at("VALUES", "("):
        cursor.unsupported(f"{cursor.key()} in FROM", "Name a relation, or write TUMBLE(relation, SIZE n unit).")
    tree = table(cursor)
    if cursor.at("("):
        cursor.problem("There is no function of this kind in FROM: TUMBLE, HOP and CUMULATE are.", back=1)
    return tree


def _subquery(cursor: Cursor) -> exp.Expr:
    cursor.expect("(")
    tree = exp.Subquery(this=select.query_tree(cursor))
    if not cursor.accept(")"):
        cursor.fail(")")
    return tree


def table(cursor: Cursor) -> exp.Table:
    """A relation's name: up to database.schema.relation."""
    parts = [identifier_node(cursor, "the name of a relation")]
    while cursor.accept("."):
        if len(parts) == 3:
            cursor.problem("The name of a relation has at most 3 parts.")
        parts.append(identifier_node(cursor, "a name after the dot"))
    if cursor.at("-") and cursor.touches():
        cursor.problem("A name with '-' in it must be put in double quotes.")
    return exp.Table(**dict(zip(("this", "db", "catalog"), reversed(parts), strict=False)))


def _window(cursor: Cursor) -> WindowSource:
    """TUMBLE(r, SIZE d) | HOP(r, SIZE d, ADVANCE BY d) | CUMULATE(r, SIZE d, STEP d), where d is n unit."""
    kind = cursor.key()
    step_words = _STEPS[kind]
    token = cursor.advance(2)
    inner = _subquery(cursor) if select.at_query(cursor) else table(cursor)
    cursor.expect(",", "SIZE")
    size = _duration(cursor)
    step = None
    if step_words:
        cursor.expect(",", *step_words)
        step = _duration(cursor)
    cursor.expect(")")
    tree = WindowSource(this=inner, kind=kind, size=size, step=step)
    cursor.marked(tree, token)
    return tree


def _duration(cursor: Cursor) -> int:
    """`n unit` in milliseconds, more than 0."""
    span = _span(cursor)
    if span == 0:
        cursor.problem("A window's size and step are more than 0.", back=2)
    return span


def _span(cursor: Cursor) -> int:
    """`n unit` in milliseconds."""
    amount = cursor.count("a whole number")
    unit = cursor.key()
    factor = _MILLISECONDS.get(unit) or _MILLISECONDS.get(unit.removesuffix("S"))
    if factor is None:
        cursor.fail(*_MILLISECONDS)
    cursor.advance()
    return amount * factor


def joins(cursor: Cursor) -> list[exp.Expr]:
    """All joins after the first source. A comma is CROSS JOIN."""
    found: list[exp.Expr] = []
    while (join := _join(cursor)) is not None:
        found.append(join)
    return found


def _join(cursor: Cursor) -> exp.Join | None:
    if cursor.accept(",") or cursor.accept("CROSS", "JOIN"):
        right = _unnest(cursor) if cursor.at("UNNEST", "(") else source(cursor)
        return exp.Join(this=right, kind="CROSS")
    side = cursor.key() if cursor.at_any(_SIDES) else None
    if side and cursor.key(1) in ("JOIN", "OUTER"):
        cursor.advance()
        cursor.accept("OUTER")
    elif not cursor.at("JOIN") and not cursor.at("INNER"):
        return None
    else:
        cursor.accept("INNER")
        side = None
    cursor.expect("JOIN")
    right = source(cursor)
    within = _within(cursor)
    if cursor.accept("USING"):
        return exp.Join(this=right, side=side, within=within, using=_names(cursor))
    cursor.expect("ON")
    return exp.Join(this=right, side=side, within=within, on=expressions.expression(cursor))


def _within(cursor: Cursor) -> Within | None:
    """WITHIN n unit | WITHIN (n unit, n unit), and after either GRACE PERIOD n unit."""
    if not cursor.at("WITHIN"):
        return None
    token = cursor.advance()
    if cursor.accept("("):
        before = _span(cursor)
        cursor.expect(",")
        after = _span(cursor)
        cursor.expect(")")
    else:
        before = after = _span(cursor)
    grace = _span(cursor) if cursor.accept("GRACE", "PERIOD") else None
    tree = Within(before=before, after=after, grace=grace)
    cursor.marked(tree, token)
    return tree


def _names(cursor: Cursor) -> list[exp.Identifier]:
    """Columns in parentheses."""
    cursor.expect("(")
    found = [identifier_node(cursor, "the name of a column")]
    while cursor.accept(","):
        found.append(identifier_node(cursor, "the name of a column"))
    if not cursor.accept(")"):
        cursor.fail(",", ")")
    return found


def _unnest(cursor: Cursor) -> exp.Unnest:
    """UNNEST(array) [WITH ORDINALITY] AS t(v [, position]): all names in the alias, `offset` True or None."""
    token = cursor.advance(2)
    tree = exp.Unnest(expressions=[expressions.expression(cursor)])
    cursor.expect(")")
    ordinality = cursor.accept("WITH", "ORDINALITY")
    name = select.alias(cursor)
    if name is None:
        cursor.fail("AS")
    columns = _columns(cursor, 2 if ordinality else 1)
    tree.set("alias", exp.TableAlias(this=name, columns=columns))
    tree.set("offset", ordinality or None)
    cursor.marked(tree, token)
    return tree


def _columns(cursor: Cursor, count: int) -> list[exp.Identifier]:
    """Exactly `count` names in parentheses."""
    cursor.expect("(")
    found = [identifier_node(cursor, "the name of the element")]
    if count == 2:
        cursor.expect(",")
        found.append(identifier_node(cursor, "the name of the position"))
    if cursor.at(","):
        cursor.problem("There are more names than columns: WITH ORDINALITY adds one for the position.")
    cursor.expect(")")
    return found
