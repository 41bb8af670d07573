"""A SELECT over views -> one SQLite statement with typed result columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from millpond.catalog.model import Relation, SessionContext
from millpond.catalog.reader import CatalogReader
from millpond.errors import MillpondError
from millpond.plan.binder import bind, bind_condition
from millpond.plan.coercion import coerce, common_pair
from millpond.plan.expressions import AggregateCall, ColumnRef, Expr, Literal, walk
from millpond.plan.query import output_name
from millpond.plan.scope import Scope, Source
from millpond.serve.pull.tables import find_table
from millpond.sql.nodes import WindowSource
from millpond.sql.position import position_of
from millpond.types import BOOLEAN, NULL, VARCHAR, Column, DataType
from millpond.views.expressions import to_sqlite

JOINS = {
    "": "JOIN",
    "INNER": "JOIN",
    "LEFT": "LEFT JOIN",
    "RIGHT": "RIGHT JOIN",
    "FULL": "FULL JOIN",
    "CROSS": "CROSS JOIN",
}
UNIONS = {exp.Union: "UNION", exp.Except: "EXCEPT", exp.Intersect: "INTERSECT"}


@dataclass(frozen=True, slots=True)
class Compiled:
    """SQLite text and the columns that it returns, in the encodings of the view store."""

    sql: str
    columns: tuple[Column, ...]


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

    def compile(self, tree: exp.Query, outer: Scope | None = None) -> Compiled:
        """SELECT, UNION and parentheses around them; `outer` is what a correlated sub-query may use."""
        if isinstance(tree, exp.Subquery):
            return self.compile(tree.this, outer)
        with_ = tree.args.get("with_")
        if with_ is not None:
            self._share(with_, outer)
        if isinstance(tree, exp.SetOperation):
            return self._compile_union(tree, outer)
        if not isinstance(tree, exp.Select):
            raise _refused(f"'{tree.key.upper()}'", "Write a SELECT.")
        return _Select(self, tree, outer).compile()

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

    def _share(self, with_: exp.With, outer: Scope | None) -> None:
        if with_.args.get("recursive"):
            raise _refused("WITH RECURSIVE", "Write the steps as sub-queries.")
        for shared in with_.expressions:
            self.shared[shared.alias.lower()] = self.compile(shared.this, outer)

    def _compile_union(self, tree: exp.SetOperation, outer: Scope | None) -> Compiled:
        left, right = self.compile(tree.this, outer), self.compile(tree.expression, outer)
        if len(left.columns) != len(right.columns):
            raise MillpondError(
                "WRONG_VALUES",
                name="UNION",
                reason=f"{len(left.columns)} and {len(right.columns)} columns",
                columns=", ".join(c.name for c in left.columns),
            )
        columns = tuple(
            Column(a.name, _common(a.type, b.type)) for a, b in zip(left.columns, right.columns, strict=True)
        )
        word = UNIONS[type(tree)] + ("" if tree.args.get("distinct", True) else " ALL")
        sql = f"SELECT * FROM ({left.sql}) {word} SELECT * FROM ({right.sql})"
        alias = f"u{len(self.texts)}"
        source = self.table_source(alias, (), columns)
        order = _Order(self, tree, Scope((source,), "the result of UNION"), {c.name: r for c, r in _pairs(source)})
        names = ", ".join(f"{self.texts[r.name]} AS {_quote(c.name)}" for c, r in _pairs(source))
        listed = ", ".join(_quote(c.name) for c in columns)
        return Compiled(f"WITH {alias}({listed}) AS ({sql}) SELECT {names} FROM {alias}{order.sql()}", columns)

    def table_source(self, alias: str, name: tuple[str, ...], columns: Sequence[Column]) -> Source:
        """A scope's source whose columns are `alias`'s."""
        references = tuple(self.reference(f"{alias}.{_quote(c.name)}", c.type).name for c in columns)
        return Source(tuple(columns), name, references)


def _common(a: DataType, b: DataType) -> DataType:
    found = common_pair(a, b)
    if found is None:
        raise MillpondError("TYPE_MISMATCH", what="UNION", given=f"{a} and {b}", instead="CAST one of them.")
    return found


class _Order:
    """ORDER BY, LIMIT and OFFSET of a query."""

    def __init__(self, compiler: Compiler, tree: exp.Query, scope: Scope, names: dict[str, ColumnRef]) -> None:
        self.compiler, self.tree, self.scope, self.names = compiler, tree, scope, names

    def sql(self, extend: Callable[[exp.Expression], Expr | None] | None = None) -> str:
        order = self.tree.args.get("order")
        keys = [self._key(item, extend) for item in order.expressions] if order else []
        parts = [f" ORDER BY {', '.join(keys)}"] if keys else []
        for word in ("limit", "offset"):
            clause = self.tree.args.get(word)
            if clause is not None:
                parts.append(f" {word.upper()} {_whole(clause.expression, word.upper())}")
        if len(parts) and parts[-1].startswith(" OFFSET") and not any(p.startswith(" LIMIT") for p in parts):
            parts.insert(-1, " LIMIT -1")
        return "".join(parts)

    def _key(self, item: exp.Expression, extend: Callable[[exp.Expression], Expr | None] | None) -> str:
        """NULLs first where ascending, as Spark sorts, unless the query says otherwise."""
        tree = item.this if isinstance(item, exp.Ordered) else item
        descending = bool(item.args.get("desc"))
        first = item.args.get("nulls_first")
        text = self._target(tree, extend)
        nulls = "FIRST" if (first if first is not None else not descending) else "LAST"
        return f"{text} {'DESC' if descending else 'ASC'} NULLS {nulls}"

    def _target(self, tree: exp.Expression, extend: Callable[[exp.Expression], Expr | None] | None) -> str:
        if isinstance(tree, exp.Literal) and not tree.is_string:
            return str(_whole(tree, "ORDER BY"))
        named = self.names.get(tree.name.lower()) if isinstance(tree, exp.Column) and not tree.table else None
        expr = named if named is not None else bind(tree, self.scope, extend)
        return self.compiler.render(expr) + (" COLLATE DECIMAL" if expr.type.name == "DECIMAL" else "")


def _whole(tree: exp.Expression, clause: str) -> int:
    if not isinstance(tree, exp.Literal) or tree.is_string or not tree.name.isdigit():
        raise _refused(f"{clause} that is not a whole number", "Write the number.")
    return int(tree.name)


class _Select:
    """One SELECT: its scope, and the texts of its clauses."""

    def __init__(self, compiler: Compiler, tree: exp.Select, outer: Scope | None) -> None:
        self.compiler, self.tree, self.outer = compiler, tree, outer
        self.sources: list[Source] = []

    def compile(self) -> Compiled:
        for clause in ("windows", "qualify", "laterals", "pivots", "sort", "cluster", "distribute"):
            if self.tree.args.get(clause):
                raise _refused(clause.upper(), "Leave it out.")
        from_ = self.tree.args.get("from_")
        source = self._from(from_.this) if from_ is not None else ""
        for join in self.tree.args.get("joins") or ():
            source += self._join(join)
        self.scope = Scope.of_sources(*self.sources, where=self._where())
        items = self._items()
        columns = tuple(Column(name, VARCHAR if e.type == NULL else e.type) for name, e in items)
        listed = ", ".join(
            f"{self.compiler.render(e)} AS {_quote(c.name)}" for c, (_, e) in zip(columns, items, strict=True)
        )
        distinct = "DISTINCT " if self.tree.args.get("distinct") else ""
        clauses = self._clauses(dict(items))
        return Compiled(f"SELECT {distinct}{listed}" + (f" FROM {source}" if source else "") + clauses, columns)

    def _where(self) -> str:
        names = [f"'{s.name[-1]}'" for s in self.sources if s.name]
        return " or ".join(names) or "a SELECT without FROM"

    def _clauses(self, names: dict[str, Expr]) -> str:
        text = ""
        where, group, having = (self.tree.args.get(k) for k in ("where", "group", "having"))
        if where:
            text += f" WHERE {self.compiler.render(self._condition(where.this, 'WHERE'))}"
        if group:
            text += " GROUP BY " + ", ".join(self._group(g, names) for g in group.expressions)
        if having:
            text += f" HAVING {self.compiler.render(self._condition(having.this, 'HAVING'))}"
        order = _Order(self.compiler, self.tree, self.scope, {n: self._named(e) for n, e in names.items()})
        return text + order.sql(self._extend)

    def _named(self, expr: Expr) -> ColumnRef:
        return expr if isinstance(expr, ColumnRef) else self.compiler.reference(self.compiler.render(expr), expr.type)

    def _condition(self, tree: exp.Expression, clause: str) -> Expr:
        condition = bind_condition(tree, self.scope, self._extend)
        if clause == "WHERE" and any(isinstance(e, AggregateCall) for e in walk(condition)):
            raise MillpondError(
                "AGGREGATE_NOT_ALLOWED",
                position=position_of(tree),
                clause=clause,
                instead="Filter groups with HAVING.",
            )
        return condition

    def _group(self, tree: exp.Expression, names: dict[str, Expr]) -> str:
        if isinstance(tree, exp.Literal) and not tree.is_string:
            return str(_whole(tree, "GROUP BY"))
        if isinstance(tree, exp.Column) and not tree.table and not self.scope.find(tree.name.lower()):
            named = names.get(tree.name.lower())
            if named is not None:
                return self.compiler.render(named)
        return self.compiler.render(bind(tree, self.scope, self._extend))

    def _items(self) -> list[tuple[str, Expr]]:
        items: list[tuple[str, Expr]] = []
        for tree in self.tree.expressions:
            if isinstance(tree, exp.Star) or (isinstance(tree, exp.Column) and isinstance(tree.this, exp.Star)):
                qualifier = [p.name for p in tree.parts[:-1]] if isinstance(tree, exp.Column) else []
                items += self.scope.columns(qualifier)
            else:
                expr = bind(tree.this if isinstance(tree, exp.Alias) else tree, self.scope, self._extend)
                items.append((self._name(tree, expr, len(items)), expr))
        self._check_grouping([e for _, e in items])
        return _distinct_names(items)

    def _name(self, tree: exp.Expression, expr: Expr, position: int) -> str:
        """A plain column keeps its name; its reference is no name for people."""
        if isinstance(expr, ColumnRef) and not isinstance(tree, exp.Alias):
            known = {reference.name: name for name, reference in self.scope.columns()}
            return known.get(expr.name, tree.name or f"_col{position}")
        return output_name(tree, expr, position)

    def _check_grouping(self, exprs: Sequence[Expr]) -> None:
        """SQLite would pick any row's value for a column that is not grouped: refuse it, as SQL does."""
        group = self.tree.args.get("group")
        if group is None and not any(isinstance(e, AggregateCall) for expr in exprs for e in walk(expr)):
            return
        grouped = set()
        for tree in group.expressions if group else ():
            if isinstance(tree, exp.Literal) and not tree.is_string:
                index = _whole(tree, "GROUP BY") - 1
                if not 0 <= index < len(exprs):
                    raise MillpondError("COLUMN_NOT_FOUND", name=tree.name, where="the SELECT list", suggestion="")
                grouped.add(exprs[index])
            elif not isinstance(tree, exp.Column) or tree.table or self.scope.find(tree.name.lower()):
                grouped.add(bind(tree, self.scope, self._extend))
            else:
                return
        for expr in exprs:
            _check_grouped(expr, grouped, {r.name: name for name, r in self.scope.columns()})

    # --- FROM ---

    def _from(self, item: exp.Expression) -> str:
        sql = self._source(item)
        return sql + "".join(self._join(join) for join in item.args.get("joins") or ())

    def _source(self, item: exp.Expression) -> str:
        alias = f"t{len(self.compiler.texts)}_{len(self.sources)}"
        if isinstance(item, exp.Table):
            return self._table(item, alias)
        if isinstance(item, exp.Subquery):
            inner = self.compiler.compile(item.this, self.outer)
            columns = _renamed(inner.columns, item)
            self.sources.append(self.compiler.table_source(alias, (item.alias,) if item.alias else (), columns))
            return f"({_renamed_sql(inner, columns)}) AS {alias}"
        if isinstance(item, WindowSource):
            raise _refused(f"{item.args['kind']} over a view", "Window the stream in the view's own query.")
        raise _refused(f"'{item.key.upper()}' in FROM", "Name a view or write a sub-query.")

    def _table(self, item: exp.Table, alias: str) -> str:
        shared = self.compiler.shared.get(item.name.lower()) if len(item.parts) == 1 else None
        if shared is not None:
            name = item.alias or item.name
            self.sources.append(self.compiler.table_source(alias, (name,), shared.columns))
            return f"({shared.sql}) AS {alias}"
        table = find_table(item, self.compiler.reader, self.compiler.context)
        if table.view is not None:
            self.compiler.views.append(table.view)
        else:
            self.compiler.system = True
        name_ = (item.alias,) if item.alias else table.name
        self.sources.append(self.compiler.table_source(alias, name_, table.columns))
        return f"{table.sql} AS {alias}"

    def _join(self, join: exp.Join) -> str:
        kind = (join.side or join.kind or "").upper()
        if kind not in JOINS or join.args.get("method"):
            raise _refused(f"{kind or join.args.get('method')} JOIN", "Use INNER, LEFT, RIGHT, FULL or CROSS JOIN.")
        before = list(self.sources)
        sql = f" {JOINS[kind]} {self._source(join.this)}"
        if join.args.get("using"):
            return sql + f" ON {self._using(join, before)}"
        on = join.args.get("on")
        if on is None:
            return sql
        scope = Scope.of_sources(*self.sources, where="the joined relations")
        return sql + f" ON {self.compiler.render(bind_condition(on, scope, self._extend_in(scope)))}"

    def _using(self, join: exp.Join, before: list[Source]) -> str:
        left, right = Scope.of_sources(*before), Scope.of_sources(self.sources[-1])
        names = [name.name.lower() for name in join.args["using"]]
        pairs = [(self.compiler.render(left.resolve(n)), self.compiler.render(right.resolve(n))) for n in names]
        return " AND ".join(f"{a} = {b}" for a, b in pairs)

    # --- what a bound expression may hold besides the binder's own ---

    def _extend(self, tree: exp.Expression) -> Expr | None:
        return self._extend_in(self.scope)(tree)

    def _extend_in(self, scope: Scope) -> Callable[[exp.Expression], Expr | None]:
        def extend(tree: exp.Expression) -> Expr | None:
            if isinstance(tree, exp.Window):
                raise _refused("OVER (window functions)", "Sort and limit, or group.")
            if isinstance(tree, exp.In) and tree.args.get("query"):
                return self._in(tree, scope)
            if isinstance(tree, exp.Exists):
                inner = self.compiler.compile(tree.this, scope)
                return self.compiler.reference(f"EXISTS ({inner.sql})", BOOLEAN)
            if isinstance(tree, exp.Query):
                return self._scalar(tree, scope)
            if isinstance(tree, exp.Column) and self.outer is not None and not isinstance(tree.this, exp.Star):
                return self._outer_column(tree, scope)
            return None

        return extend

    def _outer_column(self, tree: exp.Column, scope: Scope) -> Expr | None:
        names = [p.name if p.args.get("quoted") else p.name.lower() for p in tree.parts]
        inside = scope.find(names[-1], names[:-1]) or scope.find(names[0])
        if inside or self.outer is None:
            return None
        found = self.outer.find(names[-1], names[:-1])
        return found[0] if len(found) == 1 else None

    def _scalar(self, tree: exp.Query, scope: Scope) -> Expr:
        inner = self.compiler.compile(tree, scope)
        if len(inner.columns) != 1:
            raise _refused("A sub-query of several columns as a value", "Select one column.")
        return self.compiler.reference(f"({inner.sql})", inner.columns[0].type)

    def _in(self, tree: exp.In, scope: Scope) -> Expr:
        inner = self.compiler.compile(tree.args["query"], scope)
        if len(inner.columns) != 1:
            raise _refused("IN with a sub-query of several columns", "Select one column.")
        value = bind(tree.this, scope, self._extend_in(scope))
        value = coerce(value, _common(value.type, inner.columns[0].type))
        return self.compiler.reference(f"({self.compiler.render(value)} IN ({inner.sql}))", BOOLEAN)


def _check_grouped(expr: Expr, grouped: set[Expr], columns: dict[str, str]) -> None:
    if expr in grouped or isinstance(expr, AggregateCall):
        return
    if isinstance(expr, ColumnRef) and expr.name in columns:
        raise MillpondError("GROUP_BY_NEEDED", expression=columns[expr.name])
    for child in expr.children():
        _check_grouped(child, grouped, columns)


def _renamed(columns: tuple[Column, ...], item: exp.Subquery) -> tuple[Column, ...]:
    alias = item.args.get("alias")
    names = [c.name for c in alias.args.get("columns") or ()] if alias is not None else []
    if not names:
        return columns
    return tuple(Column(n, c.type) for n, c in zip(names, columns, strict=True))


def _renamed_sql(inner: Compiled, columns: tuple[Column, ...]) -> str:
    if columns == inner.columns:
        return inner.sql
    pairs = zip(inner.columns, columns, strict=True)
    listed = ", ".join(f"{_quote(old.name)} AS {_quote(new.name)}" for old, new in pairs)
    return f"SELECT {listed} FROM ({inner.sql})"


def _distinct_names(items: list[tuple[str, Expr]]) -> list[tuple[str, Expr]]:
    """A name that comes twice gets a number, so that the result (and a sub-query over it) is well-formed."""
    seen: dict[str, int] = {}
    named = []
    for name, expr in items:
        seen[name] = seen.get(name, 0) + 1
        named.append((name if seen[name] == 1 else f"{name}_{seen[name]}", expr))
    return named


def _pairs(source: Source) -> list[tuple[Column, ColumnRef]]:
    return [(Column(name, ref.type), ref) for name, ref in source.pairs()]


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _refused(what: str, instead: str) -> MillpondError:
    return MillpondError("UNSUPPORTED", feature=f"{what} in a query over views", instead=instead)
