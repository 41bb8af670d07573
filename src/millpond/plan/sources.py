"""FROM of a persistent query: sqlglot nodes -> Scan, Window and Unnest nodes, and the scope of their columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlglot import exp

from millpond.catalog.lookup import existing_store
from millpond.catalog.model import KAFKA_TYPES, Relation, RelationKind, SessionContext
from millpond.catalog.names import resolve_relation
from millpond.catalog.reader import CatalogReader
from millpond.errors import MillpondError, Position
from millpond.plan.binder import bind
from millpond.plan.joins import plan_join
from millpond.plan.nodes import Join, Node, Scan, Unnest, Window, scans_of, walk
from millpond.plan.outputs import alias_name
from millpond.plan.properties import SOURCE, read_properties
from millpond.plan.row_functions import row_columns
from millpond.plan.scope import Scope
from millpond.plan.source import Source
from millpond.plan.timestamps import timestamp_column
from millpond.sql.nodes import WindowSource
from millpond.sql.position import position_of
from millpond.types import BIGINT, TIMESTAMP, VARCHAR, ArrayType, Column, DataType, StructType

WINDOW_COLUMNS = (Column("window_start", TIMESTAMP), Column("window_end", TIMESTAMP))


def name_parts(table: exp.Table) -> tuple[tuple[str, bool], ...]:
    """A table's name as (text, quoted) parts."""
    return tuple((part.name, bool(part.args.get("quoted"))) for part in table.parts)


def resolve_table(table: exp.Table, reader: CatalogReader, context: SessionContext) -> Relation:
    """The relation that `table` names; a not-found error points at it."""
    try:
        return resolve_relation(reader, name_parts(table), context)
    except MillpondError as error:
        error.position = error.position or position_of(table)
        raise


def plan_source(select: exp.Select, reader: CatalogReader, context: SessionContext) -> Source:
    """Plan FROM and the joins of `select`."""
    from_ = select.args.get("from_")
    if from_ is None:
        raise MillpondError(
            "UNSUPPORTED",
            position=position_of(select),
            feature="A persistent query without FROM",
            instead="Name a relation.",
        )
    source = _plan_item(from_.this, reader, context)
    joins = [*(from_.this.args.get("joins") or ()), *(select.args.get("joins") or ())]
    unnests = [join for join in joins if isinstance(join.this, exp.Unnest)]
    _refuse_second(unnests)
    if len(joins) > len(unnests):
        source = _joinable(source, from_.this)
    for join in joins:
        if isinstance(join.this, exp.Unnest):
            source = _plan_unnest(source, join.this)
        else:
            source = plan_join(source, join, _joinable(_plan_item(join.this, reader, context), join.this))
    _refuse_allowance(source.node, from_.this)
    return source


def _refuse_allowance(node: Node, item: exp.Expr) -> None:
    """Only windows and joins let go of state by event time; without one no row comes too late."""
    if any(isinstance(n, Window | Join) for n in walk(node)):
        return
    key = "source.allow.latency.millis"
    if any(scan.allowed_latency_ms is not None for scan in scans_of(node)):
        raise MillpondError(
            "UNSUPPORTED",
            position=_property_position(item, key) or position_of(item),
            feature=f"'{key}' of a source without a window or a join",
            instead="Leave it out: all rows count there, however late.",
        )


def _refuse_second(unnests: Sequence[exp.Expr]) -> None:
    """A row's place has room for its place in one array: see `spark.translate`."""
    if len(unnests) > 1:
        raise MillpondError(
            "UNSUPPORTED",
            position=position_of(unnests[1].this),
            feature="A second UNNEST",
            instead="CREATE STREAM ... AS SELECT with one of them, then go on with that stream.",
        )


def _joinable(source: Source, item: exp.Expr) -> Source:
    """`source` with the hidden columns among the others, by which they go through joins. Raises UNSUPPORTED."""
    if isinstance(item, WindowSource):
        raise MillpondError(
            "UNSUPPORTED",
            position=position_of(item),
            feature="A window in a join",
            instead="CREATE STREAM ... AS SELECT with the join first, then take the window over that stream.",
        )
    assert isinstance(source.node, Scan)
    columns = (*source.node.columns, *row_columns(source.node.store_type))
    return replace(source, node=replace(source.node, columns=columns))


def _plan_item(item: exp.Expression, reader: CatalogReader, context: SessionContext) -> Source:
    if isinstance(item, WindowSource):
        return _plan_window(item, reader, context)
    if isinstance(item, exp.Table):
        return _plan_scan(item, reader, context)
    raise MillpondError(
        "UNSUPPORTED",
        position=position_of(item),
        feature="A sub-query in FROM of a persistent query",
        instead="CREATE STREAM ... AS SELECT for the inner query, then read that stream.",
    )


def _plan_scan(table: exp.Table, reader: CatalogReader, context: SessionContext) -> Source:
    relation = resolve_table(table, reader, context)
    if relation.kind is RelationKind.VIEW:
        raise MillpondError(
            "UNSUPPORTED",
            position=position_of(table),
            feature=f"Reading the materialized view '{relation.name}' in a persistent query",
            instead="CREATE CHANGELOG ... AS SELECT for it and read that, or ask the view with a plain SELECT.",
        )
    node = scan_of(relation, table, reader, context)
    return Source(node, _scope(relation, table.alias, node))


def _scope(relation: Relation, alias: str, node: Scan | Window) -> Scope:
    name = (alias,) if alias else (relation.database, relation.schema, relation.name)
    store_type = scans_of(node)[0].store_type
    return Scope.of_relation(name, node.columns, key_type=row_key_type(relation), store_type=store_type)


def row_key_type(relation: Relation) -> DataType | None:
    """What rowkey() shows of the relation's keys: text, JSON's too, or an integer; None: it declares none."""
    is_text = isinstance(relation.key_type, StructType) or (relation.key_type and relation.key_format == "delimited")
    return VARCHAR if is_text else relation.key_type


def scan_of(relation: Relation, item: exp.Expr, reader: CatalogReader, context: SessionContext) -> Scan:
    """A scan of `relation`: the properties of the source `item` count, then the session's, then the relation's."""
    given = source_properties(item)
    return Scan(
        columns=relation.columns,
        relation=relation,
        starting_position=starting_position(relation, given, context, "earliest"),
        timestamp_column=source_timestamp(relation, item, given),
        allowed_latency_ms=given.get("source.allow.latency.millis"),
        error_handling={"terminate": "TERMINATE", "ignore": "IGNORE"}.get(
            given.get("source.deserialization.error.handling", ""), "LOG"
        ),
        dead_letter_topic=given.get("source.deserialization.error.log.topic"),
        dead_letter_store=_letters_store(given, item, reader),
        store_type=existing_store(reader, relation.store).type,
        idle_timeout_ms=given.get("source.idle.timeout.millis"),
    )


def source_timestamp(relation: Relation, item: exp.Expr, given: dict[str, Any]) -> str | None:
    """The column with the event time: that of the source `item`, whose WITH is `given`, else the relation's."""
    try:
        own = timestamp_column(relation.name, relation.columns, given.get("timestamp"))
    except MillpondError as error:
        error.position = _property_position(item, "timestamp")
        raise
    return own or relation.timestamp_column


def _letters_store(given: dict[str, Any], item: exp.Expr, reader: CatalogReader) -> str | None:
    """The store that a source names for its dead letters. Raises STORE_NOT_FOUND, BAD_PROPERTY if it is not Kafka's."""
    key = "source.deserialization.error.log.store"
    name = given.get(key)
    if name is None:
        return None
    try:
        if existing_store(reader, name).type not in KAFKA_TYPES:
            raise MillpondError("BAD_PROPERTY", name=key, value=name, takes="the name of a Kafka store")
    except MillpondError as error:
        error.position = _property_position(item, key)
        raise
    return str(name)


def starting_position(relation: Relation, given: dict[str, Any], context: SessionContext, otherwise: str) -> str:
    """earliest, latest, or epoch milliseconds as text: where a query begins to read `relation`."""
    places = (given, context.settings, relation.properties)
    return next((str(p["starting.position"]) for p in places if p.get("starting.position")), otherwise)


def source_properties(item: exp.Expr) -> dict[str, Any]:
    """What a source's own WITH says; of a window also that of the relation in it."""
    inner = source_properties(item.this) if isinstance(item, WindowSource) else {}
    given = item.args.get("source_properties")
    return {**inner, **(read_properties(given.args["properties"], SOURCE, "a source") if given else {})}


def refuse_when_followed(item: exp.Expr) -> None:
    """Raises UNSUPPORTED for a property of the source `item` that only a persistent query has a use for."""
    key = next((k for k in source_properties(item) if k.startswith("source.")), None)
    if key is not None:
        raise MillpondError(
            "UNSUPPORTED",
            position=_property_position(item, key),
            feature=f"'{key}' in a followed SELECT",
            instead="A followed SELECT passes over records that do not decode, and waits for nothing.",
        )


def _property_position(item: exp.Expr, key: str) -> Position | None:
    """Where a source's own WITH gives `key`."""
    given = item.args.get("source_properties")
    found = next((p.position for p in given.args["properties"] if p.key == key), None) if given else None
    return found or (_property_position(item.this, key) if isinstance(item, WindowSource) else None)


def _plan_window(item: WindowSource, reader: CatalogReader, context: SessionContext) -> Source:
    table = item.this
    if not isinstance(table, exp.Table):
        raise MillpondError(
            "UNSUPPORTED",
            position=position_of(item),
            feature="A window over a sub-query",
            instead="Name a stream in the window's first place.",
        )
    relation = resolve_table(table, reader, context)
    if relation.kind is not RelationKind.STREAM:
        raise MillpondError(
            "UNSUPPORTED",
            position=position_of(table),
            feature=f"A window over the {relation.kind.value} '{relation.name}'",
            instead="Windows are taken over streams.",
        )
    scan = scan_of(relation, item, reader, context)
    kind, size, step = item.args["kind"], item.args["size"], item.args.get("step") or item.args["size"]
    _check_step(item, kind, size, step)
    columns = _added(relation.columns, WINDOW_COLUMNS, [item, item])
    node = Window(columns, scan, kind, size, step, scan.allowed_latency_ms)
    return Source(node, _scope(relation, _alias(item) or table.alias, node))


def _check_step(item: WindowSource, kind: str, size: int, step: int) -> None:
    wrong = None
    if kind == "CUMULATE" and size % step:
        wrong = "A CUMULATE whose SIZE is not a multiple of STEP"
    if kind == "HOP" and step > size:
        wrong = "A HOP that advances by more than its SIZE"
    if wrong:
        raise MillpondError(
            "UNSUPPORTED", position=position_of(item), feature=wrong, instead="Change the size or the step."
        )


def _added(columns: tuple[Column, ...], more: tuple[Column, ...], trees: Sequence[exp.Expr]) -> tuple[Column, ...]:
    """Both, whose names must differ; `trees` are where `more` come from. Raises DUPLICATE_COLUMN."""
    names = {c.name for c in columns}
    for column, tree in zip(more, trees, strict=True):
        if column.name in names:
            raise MillpondError("DUPLICATE_COLUMN", position=position_of(tree), name=column.name)
        names.add(column.name)
    return (*columns, *more)


def _alias(item: exp.Expression) -> str:
    alias = item.args.get("alias")
    return alias.name if alias is not None else ""


def _plan_unnest(source: Source, unnest: exp.Expr) -> Source:
    array = bind(unnest.expressions[0], source.scope)
    if not isinstance(array.type, ArrayType):
        raise MillpondError(
            "TYPE_MISMATCH",
            position=position_of(unnest.expressions[0]),
            what="UNNEST",
            given=str(array.type),
            instead="It takes an ARRAY apart.",
        )
    alias = unnest.args["alias"]
    element, *order = [alias_name(c) for c in alias.args["columns"]]
    added = (Column(element, array.type.element), *(Column(name, BIGINT) for name in order))
    columns = _added(source.node.columns, added, alias.args["columns"])
    element_scope = Scope.of_relation((alias.name,), added, hidden=False)
    node = Unnest(columns, source.node, array, element, order[0] if order else None)
    return Source(node, Scope.of_sources(*source.scope.sources, *element_scope.sources))
