"""Generated names, types, expressions and statements."""

from __future__ import annotations

from hypothesis import strategies as st
from sqlglot import exp

from millpond import types
from millpond.sql import statements as s
from millpond.sql.nodes import FieldAccess, SourceProperties, WindowSource
from millpond.sql.type_trees import type_tree
from millpond.sql.words import NOT_AN_ALIAS

anything = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
WORDS = NOT_AN_ALIAS | frozenset(
    ["DATE", "TIME", "TIMESTAMP", "INTERVAL", "ENTITY", "TOPIC", "QUERY", "DATABASE", "SCHEMA", "IF"]
)
"""Words that mean something, always or in the places where names are generated here."""


def _is_plain(word: str) -> bool:
    return word.upper() not in WORDS


plain_words: st.SearchStrategy[str] = st.from_regex(r"[a-z_][a-zA-Z0-9_]{0,5}", fullmatch=True).filter(_is_plain)
quoted_names = anything.filter(lambda text: text and "\0" not in text)
identifiers = st.builds(s.Identifier, plain_words) | st.builds(s.Identifier, quoted_names, st.just(True))


def names(most: int) -> st.SearchStrategy[s.Name]:
    return st.builds(s.Name, st.lists(identifiers, min_size=1, max_size=most).map(tuple))


values = st.none() | anything | st.integers(-(10**20), 10**20) | st.booleans() | st.floats(0.001, 1e15)


def properties(least: int = 0) -> st.SearchStrategy[s.Properties]:
    return st.lists(
        st.builds(s.Property, anything.map(str.lower), values),
        min_size=least,
        max_size=3,
        unique_by=lambda p: p.key,
    ).map(tuple)


# --- types -------------------------------------------------------------------------------------------
SCALARS = ("BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE", "DATE", "BYTES")
scalars = st.sampled_from([types.DataType(n) for n in SCALARS])
sized = st.one_of(
    st.builds(types.Sized, st.sampled_from(["VARCHAR", "VARBINARY"]), st.none() | st.integers(1, 1000)),
    st.builds(types.Sized, st.just("TIME"), st.none() | st.integers(0, 9)),
    st.builds(types.Sized, st.sampled_from(["TIMESTAMP", "TIMESTAMP_LTZ"]), st.integers(0, 9)),
)
decimals = st.integers(1, 38).flatmap(
    lambda p: st.builds(types.DecimalType, st.just("DECIMAL"), st.just(p), st.integers(0, p))
)


def _nested(inner: st.SearchStrategy[types.DataType]) -> st.SearchStrategy[types.DataType]:
    fields = st.lists(
        st.builds(types.Field, anything.filter(bool) | plain_words, inner),
        min_size=1,
        max_size=3,
        unique_by=lambda f: f.name,
    )
    return st.one_of(
        st.builds(types.ArrayType, st.just("ARRAY"), inner),
        st.builds(types.MapType, st.just("MAP"), inner, inner),
        st.builds(types.StructType, st.just("STRUCT"), fields.map(tuple)),
    )


data_types = st.recursive(scalars | sized | decimals, _nested, max_leaves=5)

# --- expressions -------------------------------------------------------------------------------------
identifier_nodes = identifiers.map(lambda i: exp.Identifier(this=i.text, quoted=i.quoted))
literals = st.one_of(
    anything.map(exp.Literal.string),
    st.integers(0, 10**12).map(exp.Literal.number),
    st.decimals(0, 10**6, places=3).map(lambda d: exp.Literal.number(str(d))),
    st.booleans().map(lambda b: exp.Boolean(this=b)),
    st.just(exp.Null()),
    st.just(exp.CurrentTimestamp()),
)
columns = st.builds(
    lambda parts: exp.Column(**dict(zip(("this", "table", "db", "catalog"), parts, strict=False))),
    st.lists(identifier_nodes, min_size=1, max_size=4),
)
BINARY = [exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod]
BINARY += [exp.And, exp.Or, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Like]


def _operand(tree: exp.Expr) -> exp.Expr:
    """A copy of `tree` that stands anywhere: whatever is not a leaf in parentheses."""
    return tree.copy() if isinstance(tree, exp.Literal | exp.Column) else exp.Paren(this=tree.copy())


def _composite(inner: st.SearchStrategy[exp.Expr]) -> st.SearchStrategy[exp.Expr]:
    operands = inner.map(_operand)
    some = st.lists(inner.map(lambda e: e.copy()), max_size=3)
    one_or_more = some.filter(bool)
    predicates = st.one_of(
        st.builds(lambda a, b, c: exp.Between(this=a, low=b, high=c), operands, operands, operands),
        st.builds(lambda a, b: exp.In(this=a, expressions=b), operands, one_or_more),
        st.builds(lambda a: exp.Is(this=a, expression=exp.Null()), operands),
        st.builds(lambda a, b: exp.Like(this=a, expression=b), operands, operands),
    )
    return st.one_of(
        st.builds(lambda k, a, b: k(this=a, expression=b), st.sampled_from(BINARY), operands, operands),
        st.builds(lambda a, b: exp.DPipe(this=a, expression=b, safe=True), operands, operands),
        predicates,
        predicates.map(lambda p: exp.Not(this=p)),
        operands.map(lambda a: exp.Neg(this=a)),
        st.builds(lambda a, f: FieldAccess(this=a, field=f), columns.map(lambda c: c.copy()), identifier_nodes),
        st.builds(lambda a, i: exp.Bracket(this=a, expressions=[i.copy()]), columns.map(lambda c: c.copy()), inner),
        st.builds(lambda n, a: exp.Anonymous(this=f"FN_{n}", expressions=a), st.sampled_from("ABC"), some),
        st.builds(lambda a: exp.Anonymous(this="COUNT", expressions=[exp.Distinct(expressions=a)]), one_or_more),
        st.builds(lambda a, t: exp.Cast(this=a.copy(), to=type_tree(t)), inner, data_types),
        st.builds(
            lambda c, r, d: exp.Case(ifs=[exp.If(this=c.copy(), true=r.copy())], default=d.copy()),
            inner,
            inner,
            inner,
        ),
        some.map(lambda a: exp.Array(expressions=a)),
    )


expressions = st.recursive(literals | columns, _composite, max_leaves=6).map(lambda e: e.copy())

# --- queries -----------------------------------------------------------------------------------------
tables = st.builds(
    lambda parts: exp.Table(**dict(zip(("this", "db", "catalog"), parts, strict=False))),
    st.lists(identifier_nodes, min_size=1, max_size=3),
)
durations = st.integers(1, 10**9)
windows = st.one_of(
    st.builds(lambda t, n: WindowSource(this=t, kind="TUMBLE", size=n), tables, durations),
    st.builds(
        lambda t, k, n, m: WindowSource(this=t, kind=k, size=n, step=m),
        tables,
        st.sampled_from(["HOP", "CUMULATE"]),
        durations,
        durations,
    ),
)


def _source(tree: exp.Expr, alias: exp.Identifier | None, given: s.Properties) -> exp.Expr:
    found = tree.copy()
    if alias is not None:
        found.set("alias", exp.TableAlias(this=alias.copy()))
    if given:
        found.set("source_properties", SourceProperties(properties=given))
    return found


sources = st.builds(_source, tables | windows, st.none() | identifier_nodes, properties())


def _select(
    items: list[exp.Expr], source: exp.Expr, where: exp.Expr | None, group: list[exp.Expr], limit: int | None
) -> exp.Select:
    tree = exp.Select(expressions=items, from_=exp.From(this=source.copy()))
    if where is not None:
        tree.set("where", exp.Where(this=where.copy()))
    if group:
        tree.set("group", exp.Group(expressions=[g.copy() for g in group]))
    if limit is not None:
        tree.set("limit", exp.Limit(expression=exp.Literal.number(limit)))
    return tree


items = st.one_of(
    expressions,
    st.builds(lambda e, a: exp.Alias(this=e.copy(), alias=a.copy()), expressions, identifier_nodes),
    st.just(exp.Star()),
)
selects = st.builds(
    _select,
    st.lists(items.map(lambda i: i.copy()), min_size=1, max_size=3),
    sources,
    st.none() | expressions,
    st.lists(columns, max_size=2),
    st.none() | st.integers(0, 10**6),
)
queries = st.builds(s.Query, selects, properties(), st.booleans())

# --- statements --------------------------------------------------------------------------------------
definitions = st.builds(s.ColumnDefinition, identifiers, data_types, st.booleans())
keys = st.lists(identifiers, min_size=1, max_size=2).map(tuple)
rows = st.integers(1, 3).flatmap(
    lambda n: st.lists(st.lists(expressions, min_size=n, max_size=n).map(tuple), min_size=1, max_size=3).map(tuple)
)
statements: st.SearchStrategy[s.Statement] = st.one_of(
    queries,
    st.builds(
        s.CreateRelation,
        st.just("changelog"),
        names(3),
        st.lists(definitions, min_size=1, max_size=3).map(tuple),
        st.just(()) | keys,
        properties(),
        st.booleans(),
    ),
    st.builds(
        s.CreateRelationAs,
        st.sampled_from(["stream", "changelog", "view", "table"]),
        names(3),
        queries,
        properties(),
        st.booleans(),
    ),
    st.builds(s.InsertSelect, names(3), queries),
    st.builds(s.InsertValues, names(3), st.just(()), rows),
    st.builds(s.InsertEntity, names(4), st.none() | names(1), anything, properties()),
    st.builds(s.CreateIndex, st.none() | identifiers, names(3), keys, st.booleans()),
    st.builds(s.CreateNamespace, st.just("schema"), names(1), st.none() | names(1), st.booleans()),
    st.builds(s.Drop, st.sampled_from(["stream", "view", "relation"]), names(3), st.none(), st.booleans()),
    st.builds(s.Drop, st.just("entity"), names(4), st.none() | names(1), st.booleans()),
    st.builds(s.Use, st.sampled_from(["database", "store", "role"]), names(1), st.booleans()),
    st.builds(s.Set, anything.map(str.lower), values.filter(lambda v: v is not None)),
    st.builds(s.List, st.sampled_from(["relations", "materialized views"]), st.none() | names(2)),
    st.builds(s.List, st.just("entities"), st.none() | names(4), st.none() | names(1)),
    st.builds(s.Describe, st.sampled_from(["relation", "relation columns", "materialized view"]), names(3)),
    st.builds(s.Describe, st.sampled_from(["query", "query metrics"]), names(1)),
    st.builds(s.Explain, queries, st.booleans()),
    st.builds(s.Terminate, names(1)),
    st.builds(s.Restart, names(1)),
    st.builds(s.PrintEntity, names(3), st.none() | names(1), st.booleans(), st.none() | st.integers(0, 99)),
    st.builds(
        s.AlterRelation,
        names(3),
        st.lists(
            st.builds(s.Property, anything.map(str.lower), values.filter(lambda v: v is not None)),
            min_size=1,
            max_size=2,
        ).map(tuple),
    ),
)
