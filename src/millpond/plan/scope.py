"""The names that an expression may use, and the columns of the input that they mean."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from millpond.errors import MillpondError, Position
from millpond.plan.expressions import ColumnRef
from millpond.plan.nodes import HIDDEN
from millpond.types import VARCHAR, Column, DataType


@dataclass(frozen=True, slots=True)
class Source:
    """One relation (or sub-query) that names come from.

    `name` is how a qualifier may call it: (alias,) or (database, schema, relation), of which any suffix will do;
    () for columns without a qualifier. `columns` are named as the user knows them; `references` are their names
    in the input, parallel to `columns` (the same names if empty). `hidden`: whether rowtime(), rowkey() and
    rowmeta() mean something here; the hidden columns are in the input under `hidden_prefix` + their name.
    `key_type` is what the bytes of the record key hold: VARCHAR (text or JSON), or an integer type (big-endian);
    `store_type` is that of the store whose records they are.
    """

    columns: tuple[Column, ...]
    name: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    hidden: bool = False
    hidden_prefix: str = ""
    key_type: DataType | None = VARCHAR
    """None: the relation has no key definition, rowkey() is NULL."""
    store_type: str = "KAFKA"

    def pairs(self) -> Iterator[tuple[str, ColumnRef]]:
        """Each column's user-visible name and the reference that it means."""
        references = self.references or tuple(c.name for c in self.columns)
        for column, reference in zip(self.columns, references, strict=True):
            yield column.name, ColumnRef(column.type, reference)

    def hidden_column(self, column: Column) -> ColumnRef:
        """One of `plan.nodes.HIDDEN` as a column of the input."""
        assert column in HIDDEN
        return ColumnRef(column.type, self.hidden_prefix + column.name)


@dataclass(frozen=True, slots=True)
class Scope:
    """What names mean in one place of a query. `fold` is what the dialect does to unquoted names."""

    sources: tuple[Source, ...]
    where: str = "the query"
    """How an error calls this place: "There is no column 'x' in <where>."."""
    fold: Callable[[str], str] = str.lower

    @classmethod
    def of_relation(
        cls,
        name: Sequence[str],
        columns: Sequence[Column],
        *,
        hidden: bool = True,
        key_type: DataType | None = VARCHAR,
        store_type: str = "KAFKA",
    ) -> Scope:
        """The scope of one relation, called `name` (its alias alone, or its full name in parts)."""
        source = Source(tuple(columns), tuple(name), hidden=hidden, key_type=key_type, store_type=store_type)
        return cls((source,), where=f"'{'.'.join(name)}'")

    @classmethod
    def of_columns(cls, columns: Sequence[Column], where: str = "the query") -> Scope:
        """The scope of a plain list of columns, such as a view's or the output of a SELECT."""
        return cls((Source(tuple(columns)),), where=where)

    @classmethod
    def of_sources(cls, *sources: Source, where: str = "the joined relations") -> Scope:
        """The scope of several relations, as in a join; a name that two of them have is ambiguous."""
        return cls(sources, where=where)

    def has_source(self, qualifier: Sequence[str]) -> bool:
        """Whether `qualifier` calls one of the sources."""
        return any(_called(source, qualifier) for source in self.sources)

    def columns(self, qualifier: Sequence[str] = ()) -> tuple[tuple[str, ColumnRef], ...]:
        """Names and references that `*` (or `qualifier.*`) stands for, in order."""
        return tuple(p for s in self.sources if not qualifier or _called(s, qualifier) for p in s.pairs())

    def shown(self, reference: ColumnRef) -> str:
        """What the user calls a column of the input."""
        pairs = (*self.columns(), *(pair for source in self.sources for pair in source.pairs()))
        return next((name for name, known in pairs if known == reference), reference.name)

    def find(self, name: str, qualifier: Sequence[str] = ()) -> list[ColumnRef]:
        """All columns that `name` may mean: exact matches, else those alike but for case."""
        pairs = self.columns(qualifier)
        exact = [reference for column, reference in pairs if column == name]
        return exact or [reference for column, reference in pairs if column.lower() == name.lower()]

    def resolve(self, name: str, qualifier: Sequence[str] = (), position: Position | None = None) -> ColumnRef:
        """The column that `name` means; raises COLUMN_NOT_FOUND or AMBIGUOUS_COLUMN."""
        found = self.find(name, qualifier)
        if len(found) == 1:
            return found[0]
        spelling = ".".join((*qualifier, name))
        if found:
            raise MillpondError("AMBIGUOUS_COLUMN", position=position, name=spelling, where=self.where)
        raise MillpondError(
            "COLUMN_NOT_FOUND",
            position=position,
            name=spelling,
            where=self.where,
            suggestion=self._suggestion(name),
        )

    def source_of_row(self, qualifier: Sequence[str], position: Position | None = None) -> Source:
        """The source whose rowkey() or rowmeta() is meant: without a qualifier that of the left-most.

        Raises ROW_FUNCTION_NOT_ALLOWED.
        """
        found = [s for s in self.sources if s.hidden and (not qualifier or _called(s, qualifier))]
        if len(found) == 1 or (found and not qualifier):
            return found[0]
        reason = "more than one relation has rows here" if found else f"{self.where} has no records of its own"
        raise MillpondError("ROW_FUNCTION_NOT_ALLOWED", position=position, reason=reason)

    def _suggestion(self, name: str) -> str:
        names = list(dict.fromkeys(column for column, _ in self.columns()))
        near = difflib.get_close_matches(name.lower(), [n.lower() for n in names], n=1)
        if near:
            original = next(n for n in names if n.lower() == near[0])
            return f"Did you mean '{original}'?"
        listed = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
        return f"The columns are: {listed}." if names else "There are no columns here."


@dataclass(frozen=True, slots=True)
class JoinedScope(Scope):
    """The scope of a FROM. The columns of JOIN ... USING stand once and first, unless a source is named with them."""

    shared: tuple[tuple[str, ColumnRef], ...] = ()
    hidden: frozenset[str] = frozenset()
    """References for which a shared column stands."""

    def columns(self, qualifier: Sequence[str] = ()) -> tuple[tuple[str, ColumnRef], ...]:
        pairs = Scope.columns(self, qualifier)
        if qualifier:
            return pairs
        return (*self.shared, *(pair for pair in pairs if pair[1].name not in self.hidden))


def _called(source: Source, qualifier: Sequence[str]) -> bool:
    """Whether `qualifier` is the source's name or the end of it; case decides only if nothing else matches."""
    end = source.name[len(source.name) - len(qualifier) :] if len(qualifier) <= len(source.name) else ()
    return bool(end) and [p.lower() for p in end] == [p.lower() for p in qualifier]
