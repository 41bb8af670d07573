"""CREATE, UPDATE and DROP of stores, schema registries and descriptor sources -> stages."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from millpond.avro_types import UnreadableSchemaError
from millpond.catalog.dependents import refuse_used_descriptors, refuse_used_registry, refuse_used_store
from millpond.catalog.model import DescriptorSource, SchemaRegistry, Store
from millpond.catalog.names import new_name, resolve_descriptor_source, resolve_registry
from millpond.catalog.store_kinds import ABSENT_KINDS, REGISTRY_KINDS, STORE_KINDS, check_needs
from millpond.errors import MillpondError, missing_properties
from millpond.plan.attachments import Files, file_content
from millpond.plan.configured import configured, kind_of
from millpond.plan.naming import Names, parts
from millpond.plan.properties import TEXT, read_properties
from millpond.plan.stages import (
    AddDescriptorSource,
    ChangeRegistry,
    ChangeStore,
    CheckStore,
    Planned,
    RegisterRegistry,
    RegisterStore,
    RemoveDescriptorSource,
    Stage,
    UnregisterRegistry,
    UnregisterStore,
)
from millpond.protobuf_types import message_names
from millpond.sql import statements as st


def plan_create_store(statement: st.CreateStore, names: Names, files: Files) -> Planned:
    """Raises DUPLICATE_STORE, REGISTRY_NOT_FOUND, and what `configured` and `check_needs` raise."""
    name = new_name(parts(statement.name), names.context, "store")
    if names.reader.store(name) is not None:
        return _there(statement, "store", name, MillpondError("DUPLICATE_STORE", name=name))
    _refuse_absent(statement.properties)
    kind = kind_of(statement.properties, STORE_KINDS, "CREATE STORE")
    given = configured(statement.properties, kind, "A store", files)
    properties = {**kind.defaults, **given.properties}
    check_needs(kind, {**properties, **given.secrets}, "CREATE STORE")
    store = Store(name, kind.type, _attached(properties, names), names.context.role, 0, 0)
    stages = (CheckStore(store, given.secrets), RegisterStore(store, given.secrets))
    return _done(stages, "store", name, "CREATE STORE", "was created")


def plan_update_store(statement: st.UpdateStore, names: Names, files: Files) -> Planned:
    """What is not given stays as it is. Raises STORE_NOT_FOUND, and what `configured` raises."""
    before = names.store(statement.name)
    _refuse_other_type(statement.properties, before.type)
    given = configured(statement.properties, STORE_KINDS[before.type], "A store", files)
    properties = _attached({**before.properties, **given.properties}, names)
    stage = ChangeStore(replace(before, properties=properties), given.secrets, before)
    return _done((stage,), "store", before.name, "UPDATE STORE", "was changed")


def plan_drop_store(name: st.Name, names: Names) -> tuple[Stage, ...]:
    """Raises STORE_NOT_FOUND, DEPENDENTS_EXIST: also for the session's own store."""
    store = names.store(name)
    refuse_used_store(names.reader, store.name)
    if store.name in (names.context.store, names.reader.defaults().get("store")):
        next_step = "USE STORE with another one first."
        raise MillpondError(
            "DEPENDENTS_EXIST", what="store", name=store.name, dependents="this session", next_step=next_step
        )
    return (UnregisterStore(store),)


def plan_create_registry(statement: st.CreateSchemaRegistry, names: Names, files: Files) -> Planned:
    """Raises DUPLICATE_REGISTRY, and what `configured` and `check_needs` raise."""
    name = new_name(parts(statement.name), names.context, "schema registry")
    if names.reader.schema_registry(name) is not None:
        return _there(statement, "schema_registry", name, MillpondError("DUPLICATE_REGISTRY", name=name))
    kind = kind_of(statement.properties, REGISTRY_KINDS, "CREATE SCHEMA_REGISTRY")
    given = configured(statement.properties, kind, "A schema registry", files)
    check_needs(kind, given.all, "CREATE SCHEMA_REGISTRY")
    registry = SchemaRegistry(name, kind.type, given.properties, names.context.role)
    stages = (RegisterRegistry(registry, given.secrets),)
    return _done(stages, "schema_registry", name, "CREATE SCHEMA_REGISTRY", "was created")


def plan_update_registry(statement: st.UpdateSchemaRegistry, names: Names, files: Files) -> Planned:
    """What is not given stays as it is. Raises REGISTRY_NOT_FOUND, and what `configured` raises."""
    before = _registry(statement.name, names)
    _refuse_other_type(statement.properties, before.type)
    given = configured(statement.properties, REGISTRY_KINDS[before.type], "A schema registry", files)
    changed = replace(before, properties={**before.properties, **given.properties})
    stage = ChangeRegistry(changed, given.secrets, before)
    return _done((stage,), "schema_registry", before.name, "UPDATE SCHEMA_REGISTRY", "was changed")


def plan_drop_registry(name: st.Name, names: Names) -> tuple[Stage, ...]:
    """Raises REGISTRY_NOT_FOUND, DEPENDENTS_EXIST."""
    registry = _registry(name, names)
    refuse_used_registry(names.reader, registry.name)
    return (UnregisterRegistry(registry),)


def plan_create_descriptor_source(statement: st.CreateDescriptorSource, names: Names, files: Files) -> Planned:
    """Raises DUPLICATE_DESCRIPTOR_SOURCE, MISSING_PROPERTY, FILE_NOT_SENT, BAD_DESCRIPTOR_FILE, those of
    properties."""
    name = new_name(parts(statement.name), names.context, "descriptor source")
    if names.reader.descriptor_source(name) is not None:
        taken = MillpondError("DUPLICATE_DESCRIPTOR_SOURCE", name=name)
        return _there(statement, "descriptor_source", name, taken)
    what = "CREATE DESCRIPTOR_SOURCE"
    given = read_properties(statement.properties, {"file": TEXT, "description": TEXT}, what)
    if "file" not in given:
        raise missing_properties(what, {"file": "'@shop.desc'"})
    position = next(p.position for p in statement.properties if p.key == "file")
    content = file_content(given["file"], "file", files, position)
    file = given["file"].removeprefix("@").rpartition("/")[2]
    try:
        message_names(content)
    except UnreadableSchemaError as error:
        raise MillpondError("BAD_DESCRIPTOR_FILE", position=position, file=file, reason=str(error)) from None
    source = DescriptorSource(name, file, given.get("description", ""), names.context.role)
    return _done((AddDescriptorSource(source, content),), "descriptor_source", name, what, "was created")


def plan_drop_descriptor_source(name: st.Name, names: Names) -> tuple[Stage, ...]:
    """Raises DESCRIPTOR_SOURCE_NOT_FOUND, DEPENDENTS_EXIST."""
    source = resolve_descriptor_source(names.reader, parts(name), names.context)
    refuse_used_descriptors(names.reader, source.name)
    return (RemoveDescriptorSource(source),)


def _registry(name: st.Name, names: Names) -> SchemaRegistry:
    return resolve_registry(names.reader, parts(name), names.context)


def _attached(properties: dict[str, str], names: Names) -> dict[str, str]:
    """With the schema registry's own name, if there is one. Raises REGISTRY_NOT_FOUND."""
    registry = properties.get("schema_registry.name")
    if registry is None:
        return properties
    found = resolve_registry(names.reader, ((registry, True),), names.context)
    return {**properties, "schema_registry.name": found.name}


def _refuse_absent(properties: st.Properties) -> None:
    """Types that DeltaStream has and Millpond has not."""
    for given in properties:
        if given.key == "type" and str(given.value).upper() in ABSENT_KINDS:
            feature = f"A store of type {given.value}"
            instead = "Stores are of type " + ", ".join(STORE_KINDS) + "."
            raise MillpondError("UNSUPPORTED", position=given.position, feature=feature, instead=instead)


def _refuse_other_type(properties: st.Properties, there: str) -> None:
    for given in properties:
        if given.key == "type" and str(given.value).upper() != there:
            takes = f"{there}: a type cannot be changed, DROP and CREATE it"
            raise MillpondError("BAD_PROPERTY", position=given.position, name="type", value=given.value, takes=takes)


def _there(statement: Any, kind: str, name: str, error: MillpondError) -> Planned:
    """The answer for a name that is taken, if the statement allows that; else the error."""
    if not statement.if_not_exists:
        error.position = statement.name.position
        raise error
    return Planned((), kind, name, "CREATE", f"'{name}' exists already, nothing was done", (name,))


def _done(stages: tuple[Stage, ...], kind: str, name: str, command: str, summary: str) -> Planned:
    return Planned(stages, kind, name, command, f"{kind.replace('_', ' ')} '{name}' {summary}", (name,))
