"""CREATE, UPDATE and DROP of entities (a topic, a Kinesis stream) -> stages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millpond.catalog.dependents import refuse_used_by_relations
from millpond.catalog.model import Store
from millpond.catalog.store_kinds import ENTITY_ALIASES, STORE_KINDS, TOPIC_SETTING
from millpond.errors import MillpondError
from millpond.plan.naming import Names
from millpond.plan.properties import COUNT, TEXT, PropertyKind, read_property
from millpond.plan.relations import TopicLookup
from millpond.plan.rows import entity_topic
from millpond.plan.stages import AlterEntity, CreateEntity, Planned, RemoveEntity, Stage
from millpond.sql import statements as st
from millpond.suggestion import suggestion


def plan_create_entity(statement: st.CreateEntity, names: Names, topics: TopicLookup) -> Planned:
    """Raises STORE_NOT_FOUND, DUPLICATE_ENTITY, those of properties."""
    store, topic = names.store(statement.store), entity_topic(statement.entity)
    if topics(store.name, topic) is not None:
        if not statement.if_not_exists:
            position = statement.entity.position
            raise MillpondError("DUPLICATE_ENTITY", position=position, name=topic, store=store.name)
        return Planned((), "entity", topic, "CREATE", f"'{topic}' exists already, nothing was done", (topic,))
    given = _read(statement.properties, store, "CREATE ENTITY")
    parts = STORE_KINDS[store.type].partitions
    stage = CreateEntity(store.name, topic, given.pop(parts, None), given.pop("topic.replicas", None), _settings(given))
    return Planned((stage,), "entity", topic, "CREATE ENTITY", f"entity '{topic}' was created", (topic,))


def plan_update_entity(statement: st.UpdateEntity, names: Names, topics: TopicLookup) -> Planned:
    """Raises STORE_NOT_FOUND, ENTITY_NOT_FOUND, UNSUPPORTED for replicas, those of properties."""
    store = names.store(statement.store)
    topic = known_entity(statement.entity, store, topics)
    given = _read(statement.properties, store, "UPDATE ENTITY")
    if "topic.replicas" in given:
        feature = "Changing the number of replicas"
        raise MillpondError("UNSUPPORTED", feature=feature, instead="Move the topic with the tools of its cluster.")
    parts = STORE_KINDS[store.type].partitions
    stage = AlterEntity(store.name, topic, given.pop(parts, None), _settings(given))
    return Planned((stage,), "entity", topic, "UPDATE ENTITY", f"entity '{topic}' was changed", (topic,))


def plan_drop_entity(
    statement: st.Drop, names: Names, topics: TopicLookup
) -> tuple[tuple[Stage, ...], tuple[str, ...]]:
    """Raises STORE_NOT_FOUND, ENTITY_NOT_FOUND, DEPENDENTS_EXIST if relations are on it."""
    store = names.store(statement.store)
    topic = known_entity(statement.name, store, topics)
    refuse_used_by_relations(names.reader, "entity", topic, names.reader.relations_on_topic(store.name, topic))
    return (RemoveEntity(store.name, topic),), (topic,)


def known_entity(entity: st.Name, store: Store, topics: TopicLookup) -> str:
    """The entity that a name means: as written, else in lower case. Raises ENTITY_NOT_FOUND."""
    written = entity_topic(entity)
    for topic in dict.fromkeys((written, written.lower())):
        if topics(store.name, topic) is not None:
            return topic
    next_step = f'LIST ENTITIES IN STORE "{store.name}"; shows those that there are.'
    raise MillpondError(
        "ENTITY_NOT_FOUND", position=entity.position, name=written, store=store.name, suggestion=next_step
    )


def _read(properties: st.Properties, store: Store, statement: str) -> dict[str, Any]:
    """Raises UNKNOWN_PROPERTY, BAD_PROPERTY, DUPLICATE_PROPERTY, UNSUPPORTED."""
    known = _known(store)
    values: dict[str, Any] = {}
    for item in properties:
        key = ENTITY_ALIASES.get(item.key, item.key)
        if key in values:
            raise MillpondError("DUPLICATE_PROPERTY", position=item.position, name=item.key)
        setting = key.startswith(TOPIC_SETTING) and store.type != "KINESIS"
        if not setting and key not in known:
            raise _unknown(item, key, known, store, statement)
        values[key] = read_property(item, TEXT if setting else known[key])
    return values


def _known(store: Store) -> Mapping[str, PropertyKind]:
    kind = STORE_KINDS[store.type]
    replicas = {} if store.type == "KINESIS" else {"topic.replicas": COUNT}
    return {kind.partitions: COUNT, **replicas}


def _unknown(
    item: st.Property, key: str, known: Mapping[str, PropertyKind], store: Store, statement: str
) -> MillpondError:
    if key in ("key.descriptor.name", "value.descriptor.name"):
        instead = f"Name the message where the relation is made: CREATE STREAM ... WITH ('{key}' = ...)."
        return MillpondError("UNSUPPORTED", position=item.position, feature=f"'{key}' of an entity", instead=instead)
    settings = "" if store.type == "KINESIS" else f", and '{TOPIC_SETTING}' with a setting of Kafka behind it"
    listed = f"A store of type {store.type} takes: {', '.join(known)}{settings}."
    return MillpondError(
        "UNKNOWN_PROPERTY",
        position=item.position,
        name=item.key,
        statement=statement,
        suggestion=suggestion(key, known, listed),
    )


def _settings(given: Mapping[str, Any]) -> dict[str, str]:
    return {key.removeprefix(TOPIC_SETTING): str(value) for key, value in given.items()}
