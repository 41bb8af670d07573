"""CREATE, UPDATE and DROP of entities (a topic, a Kinesis stream) -> stages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millpond.catalog.dependents import refuse_used_by_relations
from millpond.catalog.model import EntityDescriptor, Store
from millpond.catalog.store_kinds import ENTITY_ALIASES, STORE_KINDS, TOPIC_SETTING
from millpond.errors import MillpondError
from millpond.plan.naming import Names
from millpond.plan.properties import COUNT, TEXT, PropertyKind, read_property
from millpond.plan.protobuf import DescriptorLookup
from millpond.plan.relations import TopicLookup
from millpond.plan.rows import entity_topic
from millpond.plan.stages import AlterEntity, CreateEntity, DescribeEntity, Planned, RemoveEntity, Stage
from millpond.plan.topics import check_new_topic, refuse_kafkas_own, relations_on
from millpond.sql import statements as st
from millpond.suggestion import suggestion

DESCRIPTORS = {"key.descriptor.name": "key", "value.descriptor.name": "value"}


def plan_create_entity(
    statement: st.CreateEntity, names: Names, topics: TopicLookup, descriptors: DescriptorLookup
) -> Planned:
    """Raises STORE_NOT_FOUND, DUPLICATE_ENTITY, DESCRIPTOR_NOT_FOUND, AMBIGUOUS_DESCRIPTOR, those of properties and
    of `check_new_topic`."""
    store, topic = names.store(statement.store), entity_topic(statement.entity)
    check_new_topic(store, topic, statement.entity.position)
    if topics(store.name, topic) is not None:
        if not statement.if_not_exists:
            position = statement.entity.position
            raise MillpondError("DUPLICATE_ENTITY", position=position, name=topic, store=store.name)
        return Planned((), "entity", topic, "CREATE", f"'{topic}' exists already, nothing was done", (topic,))
    given = _read(statement.properties, store, "CREATE ENTITY")
    described = _descriptors(given, store.name, topic, descriptors)
    parts = STORE_KINDS[store.type].partitions
    stage = CreateEntity(store.name, topic, given.pop(parts, None), given.pop("topic.replicas", None), _settings(given))
    return Planned((stage, *described), "entity", topic, "CREATE ENTITY", f"entity '{topic}' was created", (topic,))


def plan_update_entity(
    statement: st.UpdateEntity, names: Names, topics: TopicLookup, descriptors: DescriptorLookup
) -> Planned:
    """Raises STORE_NOT_FOUND, ENTITY_NOT_FOUND, INTERNAL_TOPIC, UNSUPPORTED for replicas, DESCRIPTOR_NOT_FOUND,
    AMBIGUOUS_DESCRIPTOR, those of properties."""
    store = names.store(statement.store)
    given = _read(statement.properties, store, "UPDATE ENTITY")
    if given and all(name in DESCRIPTORS and not value for name, value in given.items()):
        topic = _described_entity(statement.entity, store, names, topics)
    else:
        topic = known_entity(statement.entity, store, topics)
    refuse_kafkas_own(store, topic, statement.entity.position)
    if "topic.replicas" in given:
        feature = "Changing the number of replicas"
        raise MillpondError("UNSUPPORTED", feature=feature, instead="Move the topic with the tools of its cluster.")
    described = _descriptors(given, store.name, topic, descriptors)
    parts = STORE_KINDS[store.type].partitions
    stage = AlterEntity(store.name, topic, given.pop(parts, None), _settings(given))
    changes = (stage,) if stage.partitions or stage.config else ()
    return Planned((*changes, *described), "entity", topic, "UPDATE ENTITY", f"entity '{topic}' was changed", (topic,))


def plan_drop_entity(
    statement: st.Drop, names: Names, topics: TopicLookup
) -> tuple[tuple[Stage, ...], tuple[str, ...]]:
    """Raises STORE_NOT_FOUND, ENTITY_NOT_FOUND, INTERNAL_TOPIC, DEPENDENTS_EXIST if relations are on it."""
    store = names.store(statement.store)
    topic = known_entity(statement.name, store, topics)
    refuse_kafkas_own(store, topic, statement.name.position)
    refuse_used_by_relations(names.reader, "entity", topic, relations_on(names.reader, store, topic))
    described = [p for p in DESCRIPTORS.values() if names.reader.entity_descriptor(store.name, topic, p)]
    forget = (DescribeEntity(store.name, topic, part, None) for part in described)
    # First what can be undone: a crash in between must leave no descriptor of a topic that is gone.
    return (*forget, RemoveEntity(store.name, topic)), (topic,)


def _descriptors(given: dict[str, Any], store: str, topic: str, lookup: DescriptorLookup) -> tuple[DescribeEntity, ...]:
    """Takes them out of `given`; an empty name takes an entity's descriptor away."""
    stages = []
    for name, part in DESCRIPTORS.items():
        if name in given:
            wanted = given.pop(name)
            found = EntityDescriptor(store, topic, part, *lookup.find(wanted)) if wanted else None
            stages.append(DescribeEntity(store, topic, part, found))
    return tuple(stages)


def _described_entity(entity: st.Name, store: Store, names: Names, topics: TopicLookup) -> str:
    """`known_entity`, or one that is gone from the store and has descriptors still: they can be taken away."""
    written = entity_topic(entity)
    if any(names.reader.entity_descriptor(store.name, written, part) for part in DESCRIPTORS.values()):
        return written
    return known_entity(entity, store, topics)


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
    descriptors = ["value.descriptor.name"] if store.type == "KINESIS" else list(DESCRIPTORS)
    return {kind.partitions: COUNT, **replicas, **dict.fromkeys(descriptors, TEXT)}


def _unknown(
    item: st.Property, key: str, known: Mapping[str, PropertyKind], store: Store, statement: str
) -> MillpondError:
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
