"""DESCRIBE <statement>: what it would make, as one row of kind and JSON, in the shape that deployment tools read."""

from __future__ import annotations

import json
from typing import Any

from millpond.catalog.model import Relation, SessionContext
from millpond.catalog.reader import CatalogReader
from millpond.plan.stages import Planned, RegisterRelation, StartQuery
from millpond.serve.answers import Answer
from millpond.types import VARCHAR, Column

KIND, STATEMENT = Column("kind", VARCHAR), Column("statement", VARCHAR)


def described_statement(planned: Planned, reader: CatalogReader, context: SessionContext) -> Answer:
    """`ddl`, `sink` and `sources`, each a relation with its full name."""
    made = next((s.relation for s in planned.stages if isinstance(s, RegisterRelation)), None)
    query = next((s for s in planned.stages if isinstance(s, StartQuery)), None)
    plan: dict[str, Any] = {"sources": []}
    if made is not None:
        plan["ddl"] = _relation(made, context)
    if query is not None:
        plan["sink"] = _relation(query.plan.relation, context)
        found = (reader.relation_by_id(s) for s in query.query.sources)
        plan["sources"] = [_relation(r, context) for r in found if r is not None]
    kind = "INSERT_INTO" if planned.command == "INSERT" else planned.command.replace(" ", "_")
    return Answer((KIND, STATEMENT), [(kind, json.dumps(plan))], context, statement="DESCRIBE")


def _relation(relation: Relation, context: SessionContext) -> dict[str, str]:
    return {
        "fqn": f'"{context.organization}".{relation.fqn}',
        "type": relation.kind.value,
        "db_name": relation.database,
        "schema_name": relation.schema,
        "name": relation.name,
        "store_name": relation.store,
    }
