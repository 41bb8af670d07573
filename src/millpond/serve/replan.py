"""The plan of a query that the catalog remembers, made again from its SQL after a restart."""

from __future__ import annotations

from millpond.catalog.lookup import existing_relation
from millpond.catalog.model import PersistentQuery, SessionContext
from millpond.catalog.reader import CatalogReader
from millpond.errors import MillpondError
from millpond.plan.continuous import plan_into
from millpond.plan.nodes import Sink
from millpond.plan.pruning import prune_scan
from millpond.sql import statements as st
from millpond.sql.parser import parse


def replan(query: PersistentQuery, reader: CatalogReader, context: SessionContext) -> Sink:
    """The same sink relation, the same plan. Raises what is wrong now, such as a source that is gone."""
    (statement,) = parse(query.sql)
    if not isinstance(statement, st.CreateRelationAs | st.InsertSelect):
        raise MillpondError("INTERNAL", reason=f"query {query.id} is no query", reference=query.id)
    sink = existing_relation(reader, query.sink)
    return prune_scan(plan_into(statement, sink, reader, context))
