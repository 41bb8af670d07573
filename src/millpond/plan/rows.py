"""INSERT INTO ... VALUES and INSERT INTO ENTITY: rows and records that a statement brings itself."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from millpond.catalog.model import Relation
from millpond.errors import MillpondError
from millpond.plan.assignment import assign
from millpond.plan.binder import bind
from millpond.plan.expressions import Expr, Literal
from millpond.plan.naming import Names, column_named, path_of, refuse_twice
from millpond.plan.properties import TEXT, read_properties
from millpond.plan.scope import Scope
from millpond.plan.stages import Planned, WriteEntity, WriteRows
from millpond.plan.topics import refuse_kafkas_own, refuse_view_topic
from millpond.plan.tree import contains_aggregate
from millpond.sql import statements as st
from millpond.sql.position import position_of


def plan_insert_values(statement: st.InsertValues, names: Names) -> Planned:
    """Raises RELATION_NOT_FOUND, COLUMN_NOT_FOUND, DUPLICATE_COLUMN, WRONG_VALUES, TYPE_MISMATCH."""
    relation = names.target(statement.name)
    columns = [column_named(relation.columns, i, relation.name) for i in statement.columns]
    refuse_twice(statement.columns, columns)
    rows = tuple(_row(relation, columns or [c.name for c in relation.columns], row) for row in statement.rows)
    summary = f"{len(rows)} row{'' if len(rows) == 1 else 's'}"
    stages = (WriteRows(relation, rows),)
    return Planned(stages, "relation", relation.name, "INSERT", summary, path_of(relation))


def _row(relation: Relation, names: Sequence[str], row: Sequence[exp.Expr]) -> tuple[Expr, ...]:
    """The row's expressions, parallel to the relation's columns; NULL for a column that is not given."""
    if len(row) != len(names):
        raise MillpondError(
            "WRONG_VALUES",
            position=position_of(row[min(len(row), len(names) + 1) - 1]),
            name=relation.name,
            reason=f"{len(row)} values for {len(names)} columns",
            columns=", ".join(f"{c.name} {c.type}" for c in relation.columns),
        )
    trees = dict(zip(names, row, strict=True))
    values: list[Expr] = []
    for column in relation.columns:
        tree = trees.get(column.name)
        if tree is None:
            values.append(Literal(column.type, None))
            continue
        try:
            values.append(assign(_constant(tree), column))
        except MillpondError as error:
            error.position = error.position or position_of(tree)
            raise
    return tuple(values)


def _constant(tree: exp.Expr) -> Expr:
    expr = bind(tree, Scope.of_columns((), "VALUES"))
    if contains_aggregate(expr):
        raise MillpondError("AGGREGATE_NOT_ALLOWED", clause="VALUES", instead="Give constants.")
    return expr


def plan_insert_entity(statement: st.InsertEntity, names: Names) -> Planned:
    """One JSON text as a record's value; WITH may give its key.

    Raises STORE_NOT_FOUND, INTERNAL_TOPIC, UNSUPPORTED for a view's topic, those of properties.
    """
    store, topic = names.store(statement.store), entity_topic(statement.entity)
    refuse_kafkas_own(store, topic, statement.entity.position)
    refuse_view_topic(names.reader, store, topic, statement.entity.position)
    given = read_properties(statement.properties, {"key": TEXT}, "INSERT INTO ENTITY")
    stage = WriteEntity(store.name, topic, statement.value, given.get("key"))
    return Planned((stage,), "entity", topic, "INSERT", "1 record")


def entity_topic(entity: st.Name) -> str:
    """An entity's name in its store: the parts joined by dots, as written."""
    return ".".join(p.text for p in entity.parts)
