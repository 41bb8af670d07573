"""A query over views -> one SQLite statement with typed result columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from millpond.catalog.model import Relation, SessionContext
from millpond.catalog.reader import CatalogReader
from millpond.errors import MillpondError
from millpond.plan.coercion import coerce
from millpond.plan.expressions import ColumnRef, Expr, Literal
from millpond.plan.scope import Scope, Source
from millpond.serve.pull.common import common
from millpond.serve.pull.ordering import Ordering
from millpond.serve.pull.refused import refused
from millpond.serve.pull.select import Select
from millpond.sql.position import position_of
from millpond.types import Column, DataType
from millpond.views.expressions import to_sqlite
from millpond.views.schema import quote

SET_OPERATIONS = {exp.Union: "UNION", exp.Except: "EXCEPT", exp.Intersect: "INTERSECT"}


@dataclass(frozen=True, slots=True)
class Compiled:
    """SQLite text and the columns that it returns, in the encodings of the view store; a bare NULL has type NULL."""

    sql: str
    columns: tuple[Column, ...]
    compound: str = ""
    """Of a UNION and its like without ORDER BY and LIMIT: the text that a further operand may follow."""


@dataclass(slots=True)
class Compiler:
    """Compiles one statement. `literal` writes a constant: as text, or as a parameter that is bound later."""

    reader: CatalogReader
    context: SessionContext
    literal: Callable[[Literal], str]
    views: list[Relation] = field(default_factory=list)
    system: bool = False
    texts: dict[str, str] = field(default_factory=dict)
    """SQLite text of references: columns of FROM, and whole sub-queries."""
    shared: dict[str, Compiled] = field(default_factory=dict)
    """WITH queries in scope, by folded name."""
    aliases: int = 0

    def compile(self, tree: exp.Query, outer: tuple[Scope, ...] = ()) -> Compiled:
        """A query; `outer` are the scopes that a correlated sub-query may use, the nearest first."""
        before = self.shared
        try:
            self._share(tree.args.get("with_"), outer)
            if isinstance(tree, exp.Subquery):
                return self.compile(tree.this, outer)
            if isinstance(tree, exp.SetOperation):
                return self._set_operation(tree, outer)
            if not isinstance(tree, exp.Select):
                raise refused(f"'{tree.key.upper()}'", "Write a SELECT.", tree)
            return Compiled(*Select(self, tree, outer).compile())
        finally:
            self.shared = before

    def render(self, expr: Expr) -> str:
        """SQLite text of a bound expression."""
        return to_sqlite(expr, self._column, self.literal)

    def _column(self, reference: ColumnRef) -> str:
        return self.texts[reference.name]

    def reference(self, sql: str, type: DataType) -> ColumnRef:
        """A reference that stands for `sql`."""
        name = f"\0{len(self.texts)}"
        self.texts[name] = sql
        return ColumnRef(type, name)

    def alias(self) -> str:
        """A name for a source that no other has."""
        self.aliases += 1
        return f"t{self.aliases}"

    def source(self, alias: str, name: tuple[str, ...], columns: Sequence[Column]) -> Source:
        """A scope's source whose columns are `alias`'s."""
        references = tuple(self.reference(f"{alias}.{quote(c.name)}", c.type).name for c in columns)
        return Source(tuple(columns), name, references)

    def conformed(self, inner: Compiled, columns: Sequence[Column]) -> str:
        """SQLite text of `inner` with its columns named and typed as `columns`."""
        alias = self.alias()
        pairs = zip(self.source(alias, (), inner.columns).pairs(), columns, strict=True)
        listed = ", ".join(f"{self.render(coerce(old, new.type))} AS {quote(new.name)}" for (_, old), new in pairs)
        return f"SELECT {listed} FROM ({inner.sql}) AS {alias}"

    def _share(self, with_: exp.With | None, outer: tuple[Scope, ...]) -> None:
        for shared in with_.expressions if with_ is not None else ():
            self.shared = {**self.shared, shared.alias.lower(): self.compile(shared.this, outer)}

    def _set_operation(self, tree: exp.SetOperation, outer: tuple[Scope, ...]) -> Compiled:
        left, right = self.compile(tree.this, outer), self.compile(tree.expression, outer)
        word = SET_OPERATIONS[type(tree)]
        if len(left.columns) != len(right.columns):
            raise MillpondError(
                "WRONG_VALUES",
                position=position_of(tree.expression),
                name=word,
                reason=f"{len(left.columns)} and {len(right.columns)} columns",
                columns=", ".join(c.name for c in left.columns),
            )
        pairs = zip(left.columns, right.columns, strict=True)
        columns = tuple(Column(a.name, common(a.type, b.type, word, tree)) for a, b in pairs)
        word += "" if tree.args.get("distinct", True) else " ALL"
        # A chain stays flat as long as its types do: SQLite's parser does not go far down.
        flat = left.compound if [c.type for c in left.columns] == [c.type for c in columns] else ""
        sql = f"{flat or self.conformed(left, columns)} {word} {self.conformed(right, columns)}"
        alias = self.alias()
        source = self.source(alias, (), columns)
        order = Ordering(self, tree, Scope((source,), f"the result of {word}"), tuple(source.pairs()))
        ordered = order.sql()
        return Compiled(f"SELECT * FROM ({sql}) AS {alias}{ordered}", columns, "" if ordered else sql)
