"""Topics that a statement may name: what their store can call them, and whose they are."""

from __future__ import annotations

from millpond.catalog.model import KAFKA_TYPES, Relation, RelationKind, Store
from millpond.catalog.reader import CatalogReader
from millpond.catalog.store_kinds import STORE_KINDS, same_place
from millpond.errors import MillpondError, Position

KAFKAS_OWN = (
    "__consumer_offsets",
    "__transaction_state",
    "__cluster_metadata",
    "__share_group_state",
    "__remote_log_metadata",
)
SHOWN = 60
"""Characters of a name that a message repeats."""


def check_new_topic(store: Store, topic: str, position: Position | None = None) -> None:
    """For a topic that may be made. Raises BAD_TOPIC_NAME, INTERNAL_TOPIC."""
    names = STORE_KINDS[store.type].topic_names
    if not names.fit(topic):
        shown = topic if len(topic) <= SHOWN else f"{topic[:SHOWN]}..."
        raise MillpondError(
            "BAD_TOPIC_NAME",
            position=position,
            topic=repr(shown)[1:-1],
            what=names.what,
            store=store.name,
            takes=names.takes,
        )
    refuse_kafkas_own(store, topic, position)


def refuse_kafkas_own(store: Store, topic: str, position: Position | None = None) -> None:
    """Raises INTERNAL_TOPIC."""
    if store.type in KAFKA_TYPES and topic in KAFKAS_OWN:
        raise MillpondError("INTERNAL_TOPIC", position=position, topic=topic)


def relations_on(reader: CatalogReader, store: Store, topic: str) -> list[Relation]:
    """The relations on a topic, by whatever store at the same place."""
    stores = [s for s in reader.stores() if same_place(s, store)]
    return [r for s in stores for r in reader.relations_on_topic(s.name, topic)]


def refuse_view_topic(reader: CatalogReader, store: Store, topic: str, position: Position | None = None) -> None:
    """Raises UNSUPPORTED for the changelog of a materialized view: its query alone writes there."""
    view = next((r for r in relations_on(reader, store, topic) if r.kind is RelationKind.VIEW), None)
    if view is not None:
        raise MillpondError(
            "UNSUPPORTED",
            position=position,
            feature=f"Writing into the topic of the materialized view '{view.name}'",
            instead="Insert into the stream that it reads.",
        )
