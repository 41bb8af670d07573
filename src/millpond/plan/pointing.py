"""Where a statement is wrong, for an error that does not know it itself."""

from __future__ import annotations

from millpond.errors import MillpondError, Position
from millpond.sql import statements as st


def point(error: MillpondError, statement: st.Statement) -> None:
    """Give `error` the position of the property that it speaks of, else of the name."""
    error.position = error.position or _property(error, statement) or _name(error, statement)


def _property(error: MillpondError, statement: st.Statement) -> Position | None:
    """Of a property whose key is the error's name or quoted in it, or whose value is the error's name."""
    given: tuple[st.Property, ...] = getattr(statement, "properties", ())
    name, text = error.params.get("name"), error.sentence
    keyed = [p for p in given if p.key == name or f"'{p.key}'" in text]
    valued = [p for p in given if isinstance(p.value, str) and p.value == name]
    return next((p.position for p in (*keyed, *valued)), None)


def _name(error: MillpondError, statement: st.Statement) -> Position | None:
    """Of the statement's name, if the error speaks of it."""
    for attribute in ("name", "query"):
        name = getattr(statement, attribute, None)
        if isinstance(name, st.Name) and _speaks_of(error, name):
            return name.position
    return None


def _speaks_of(error: MillpondError, name: st.Name) -> bool:
    spellings = (name.parts[-1].text, ".".join(p.text for p in name.parts))
    return any(f"'{spelling.lower()}'" in error.sentence.lower() for spelling in spellings)
