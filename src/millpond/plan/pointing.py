"""Where a statement is wrong, for an error that does not know it itself."""

from __future__ import annotations

from collections.abc import Iterator

from millpond.errors import MillpondError, Position
from millpond.sql import statements as st

NAMES = ("name", "query", "entity", "scope", "database", "store")
"""Attributes of statements that are names; the first is what the statement is about."""
OF_STATEMENTS = ("0A", "22", "2B", "3D", "42")
"""SQLSTATE classes of errors that lie in what was written; others lie outside, and no word of it is to blame."""


def point(error: MillpondError, statement: st.Statement) -> None:
    """Give `error` the position of the property that it speaks of, else of the name, else of the first name."""
    if isinstance(statement, st.Explain):
        point(error, statement.statement)
    elif error.sqlstate.startswith(OF_STATEMENTS):
        error.position = error.position or next((p for p in _places(error, statement) if p is not None), None)


def _places(error: MillpondError, statement: st.Statement) -> Iterator[Position | None]:
    """The property or name that the error speaks of, the one that its advice does, the first name; in this order."""
    given: tuple[st.Property, ...] = getattr(statement, "properties", ())
    names = list(_names(statement))
    name, text = error.params.get("name"), error.sentence
    yield from (p.position for p in given if p.key == name or f"'{p.key}'" in text)
    yield from (p.position for p in given if isinstance(p.value, str) and _is_about(p, p.value, error))
    yield from (n.position for n in names if _speaks_of(error, n))
    yield from (p.position for p in given if f"'{p.key}'" in error.hint)
    yield from (n.position for n in names)


def _is_about(given: st.Property, value: str, error: MillpondError) -> bool:
    """Whether the error is about a property's value: it has it as a parameter, or speaks of the format by its name."""
    spoken = given.key.endswith(".format") and value.lower() in error.sentence.lower().split()
    return spoken or value.lower() in error.params.values() or value in error.params.values()


def _names(statement: st.Statement) -> Iterator[st.Name]:
    for attribute in NAMES:
        name = getattr(statement, attribute, None)
        if isinstance(name, st.Name):
            yield name


def _speaks_of(error: MillpondError, name: st.Name) -> bool:
    spellings = (name.parts[-1].text, ".".join(p.text for p in name.parts))
    return any(f"'{spelling.lower()}'" in error.sentence.lower() for spelling in spellings)
