"""Writes the pages and parts of pages that follow from the code: `python docs/generate.py`.

- docs/errors.md from the table of errors,
- docs/functions.md from the table of functions,
- the part of docs/operations.md between its two "settings" marks from the tree of settings,
- the part of docs/compatibility.md between its two "refused" marks from the tables of refusals.
A test fails while a page is not what this writes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from importlib import import_module
from itertools import groupby
from pathlib import Path

from millpond.config import Settings
from millpond.errors import ErrorKind, error_table
from millpond.plan.functions.table import FAMILIES, AggregateFunction, Function, all_aggregates
from millpond.plan.properties import NOT_YET
from millpond.sql.refusals import CLAUSES, STATEMENTS
from millpond.types import DataType

DOCS = Path(__file__).parent

CLASSES = {
    "02": "No data",
    "08": "Connections",
    "0A": "Not supported",
    "22": "Values",
    "2B": "Still in use",
    "3D": "Not found",
    "3E": "Not ready",
    "42": "Statements and names",
    "53": "Limits and resources",
    "54": "Limits and resources",
    "55": "Limits and resources",
    "57": "Cancelled or not available",
    "58": "The machine",
    "28": "Access",
    "XX": "Inside Millpond",
}
"""SQLSTATE class -> what its errors have in common."""

ERRORS_HEAD = """# Errors

Every error has a name, an SQLSTATE, a sentence and, mostly, the next step. Clients get the SQLSTATE with
the text; the name stands in brackets before it and does not change, so programs and searches go by it. In
the texts below, a word in braces stands for what the error is about.
"""
FUNCTIONS_HEAD = """# Functions

What each function takes, by family. Names may be written in any case. A type's name stands for an argument
that is cast to it where that loses nothing; `[X]` may be left out (`[X = 1]` is 1 then), and `X...` may be
repeated. `NUMBER`, `INTEGRAL`, `DATETIME` (a date or a timestamp), `INSTANT` (a timestamp), `SCALAR` (all
but arrays, maps and structs), `PRINTABLE` (a scalar, taken as its text) and `ANY` stand for several types;
all `T` of a function take one common type, and so do all `S`. `PATTERN`, `REGEX`, `REPLACEMENT`,
`JSONPATH`, `UNIT` and `LITERAL` are constants. The last column tells whether a pull query over views can
use the function, too.
"""


def errors_page() -> str:
    """docs/errors.md: a heading for each error, grouped by the class of its SQLSTATE."""
    known = sorted(error_table().values(), key=lambda kind: (_class(kind), kind.name))
    groups = [
        f"## {title}\n\n" + "\n".join(_error(kind) for kind in kinds) for title, kinds in groupby(known, key=_class)
    ]
    return "\n".join([ERRORS_HEAD, *groups])


def _class(kind: ErrorKind) -> str:
    return CLASSES.get(kind.sqlstate[:2], "Others")


def _error(kind: ErrorKind) -> str:
    hint = f"\n{_braced(kind.hint)}\n" if kind.hint.strip("{}_abcdefghijklmnopqrstuvwxyz") else ""
    return f"### {kind.name}\n\nSQLSTATE `{kind.sqlstate}`: {_braced(kind.template)}\n{hint}"


def _braced(template: str) -> str:
    """`{name!r}` and the like as `{name}`."""
    return re.sub(r"\{(\w+)[^}]*\}", r"{\1}", template)


def functions_page() -> str:
    """docs/functions.md: a table for each family of functions."""
    families = [_family(family) for family in FAMILIES]
    aggregates = _table(_aggregate(a) for a in sorted(all_aggregates(), key=lambda a: a.name))
    return "\n".join([FUNCTIONS_HEAD, *families, f"## Aggregates\n\n{aggregates}"])


def _family(family: str) -> str:
    module = import_module(f"millpond.plan.functions.{family}")
    called = [f for f in module.FUNCTIONS if f.spellings]
    if not called:
        return ""
    return f"## {family.capitalize()}\n\n{_table(_function(f) for f in called)}"


def _table(rows: Iterable[tuple[str, ...]]) -> str:
    head = ("Function", "Also written", "Gives", "In pull queries")
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def _function(function: Function) -> tuple[str, ...]:
    returns = function.signature.returns
    return (
        f"`{function.describe()}`",
        ", ".join(f"`{spelling.upper()}`" for spelling in function.spellings[1:]),
        f"`{returns}`" if isinstance(returns, DataType) else "by its arguments",
        "no" if function.sqlite is None else "yes",
    )


def _aggregate(aggregate: AggregateFunction) -> tuple[str, ...]:
    also = ", ".join(f"`{spelling.upper()}`" for spelling in aggregate.spellings[1:])
    returns = aggregate.signature.returns
    given = f"`{returns}`" if isinstance(returns, DataType) else "by its arguments"
    return f"`{aggregate.describe()}`", also, given, "no" if aggregate.sqlite is None else "yes"


def settings_part() -> str:
    """The settings, a heading for each."""
    return "\n".join(line for name in Settings.model_fields for line in _setting(name))


def _setting(name: str) -> Iterator[str]:
    field = Settings.model_fields[name]
    shown = "none" if field.default in ("", None) else f"`{field.default!s}`"
    yield f"### `{name}`"
    yield ""
    yield f"{field.description} Variable `MILLPOND_{name.upper()}`; default: {shown}."
    yield ""


def refused_part() -> str:
    """What is refused by its name, and what to do instead: statements, clauses, properties."""
    statements = _pairs("Statement", ((f"`{words}`", instead) for words, instead in STATEMENTS.items()))
    clauses = _pairs("Clause", ((f"`{words}`", instead) for words, instead in CLAUSES.items()))
    properties = "".join(f"| `{name}` | {what} |\n" for name, what in NOT_YET.items())
    return f"{statements}\n{clauses}\n| Property | It is for |\n| --- | --- |\n{properties}"


def _pairs(what: str, pairs: Iterable[tuple[str, str]]) -> str:
    return "".join(f"| {left} | {right} |\n" for left, right in [(what, "Instead"), ("---", "---"), *pairs])


def with_part(path: Path, name: str, part: str) -> str:
    """A page with the part between the marks called `name` written anew; it must have the marks."""
    begin, end = f"<!-- {name}: begin, written by generate.py -->", f"<!-- {name}: end -->"
    before, _, rest = path.read_text("utf-8").partition(begin)
    _, _, after = rest.partition(end)
    return f"{before}{begin}\n\n{part}\n{end}{after}"


def pages() -> dict[Path, str]:
    """Each page that is written here -> what it ought to be."""
    operations, compatibility = DOCS / "operations.md", DOCS / "compatibility.md"
    return {
        DOCS / "errors.md": errors_page(),
        DOCS / "functions.md": functions_page(),
        operations: with_part(operations, "settings", settings_part()),
        compatibility: with_part(compatibility, "refused", refused_part()),
    }


def main() -> None:
    for path, text in pages().items():
        path.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
