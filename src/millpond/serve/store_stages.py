"""Carries out the stages about what lies outside: stores, entities, schema registries, descriptor sources."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from millpond.catalog.catalog import Catalog
from millpond.catalog.model import EntityDescriptor, Secrets
from millpond.catalog.store_kinds import REGISTRY_KINDS, STORE_KINDS, check_needs
from millpond.errors import MillpondError
from millpond.plan import stages as sg
from millpond.serve.effects import Effects
from millpond.stores.protocol import Log

Check = Callable[[str, Mapping[str, str]], None]
"""(type, properties with secrets): raises what is wrong with such a store."""


class StoreStages:
    """One `do` for each stage class, as in the `Runner`. `check` tries a store out before it is kept.

    `changed` is told the name of a store that is another from now on.
    """

    def __init__(
        self, catalog: Catalog, log: Callable[[str], Log], check: Check, changed: Callable[[str], None]
    ) -> None:
        self.catalog, self.log, self.check, self.changed = catalog, log, check, changed
        self.does: dict[type[sg.Stage], Callable[[Any, Effects], None]] = {
            sg.CheckStore: self._check_store,
            sg.RegisterStore: self._register_store,
            sg.ChangeStore: self._change_store,
            sg.UnregisterStore: lambda stage, _: self.catalog.drop_store(stage.store.name),
            sg.CreateEntity: self._create_entity,
            sg.AlterEntity: self._alter_entity,
            sg.RemoveEntity: lambda stage, _: self.log(stage.store).delete(stage.topic),
            sg.RegisterRegistry: self._register_registry,
            sg.ChangeRegistry: self._change_registry,
            sg.UnregisterRegistry: lambda stage, _: self.catalog.drop_registry(stage.registry.name),
            sg.DescribeEntity: self._describe_entity,
            sg.AddDescriptorSource: self._add_descriptor_source,
            sg.RemoveDescriptorSource: lambda stage, _: self.catalog.drop_descriptor_source(stage.source.name),
        }

    # --- stores ---

    def _check_store(self, stage: sg.CheckStore, effects: Effects) -> None:
        self.check(stage.store.type, {**stage.store.properties, **stage.secrets})

    def _register_store(self, stage: sg.RegisterStore, effects: Effects) -> None:
        self.catalog.create_store(stage.store, stage.secrets)
        effects.undo.append(lambda: self.catalog.drop_store(stage.store.name))

    def _change_store(self, stage: sg.ChangeStore, effects: Effects) -> None:
        """1. What it would be is tried out; 2. it is kept; 3. its views follow it there.

        An error in 1 leaves the store as it was. A crash after 2 is one before 3: a start follows what is kept.
        """
        name, kept = stage.before.name, _readable(lambda: self.catalog.store_secrets(stage.before.name))
        secrets = Secrets({**kept, **stage.secrets})
        properties = {**stage.store.properties, **secrets}
        check_needs(STORE_KINDS[stage.store.type], properties, f"The store '{name}'")
        self.check(stage.store.type, properties)
        self.catalog.update_store(stage.store, secrets)
        effects.undo.append(lambda: self.catalog.update_store(stage.before, kept))
        effects.finish.append(lambda: self.changed(name))

    # --- entities ---

    def _create_entity(self, stage: sg.CreateEntity, effects: Effects) -> None:
        log, replicas = self.log(stage.store), -1 if stage.replicas is None else stage.replicas
        if log.create(stage.topic, stage.partitions or 1, replicas, dict(stage.config)):
            effects.undo.append(lambda: log.delete(stage.topic))

    def _alter_entity(self, stage: sg.AlterEntity, effects: Effects) -> None:
        self.log(stage.store).alter(stage.topic, stage.partitions, dict(stage.config))

    def _describe_entity(self, stage: sg.DescribeEntity, effects: Effects) -> None:
        before = self.catalog.entity_descriptor(stage.store, stage.topic, stage.part)
        self._set_descriptor(stage, stage.descriptor)
        effects.undo.append(lambda: self._set_descriptor(stage, before))

    def _set_descriptor(self, stage: sg.DescribeEntity, descriptor: EntityDescriptor | None) -> None:
        if descriptor is None:
            self.catalog.drop_entity_descriptor(stage.store, stage.topic, stage.part)
        else:
            self.catalog.set_entity_descriptor(descriptor)

    # --- schema registries and descriptor sources ---

    def _register_registry(self, stage: sg.RegisterRegistry, effects: Effects) -> None:
        self.catalog.create_registry(stage.registry, stage.secrets)
        effects.undo.append(lambda: self.catalog.drop_registry(stage.registry.name))

    def _change_registry(self, stage: sg.ChangeRegistry, effects: Effects) -> None:
        kept = _readable(lambda: self.catalog.registry_secrets(stage.before.name))
        secrets = Secrets({**kept, **stage.secrets})
        kind = REGISTRY_KINDS[stage.registry.type]
        check_needs(kind, {**stage.registry.properties, **secrets}, f"The schema registry '{stage.before.name}'")
        self.catalog.update_registry(stage.registry, secrets)
        effects.undo.append(lambda: self.catalog.update_registry(stage.before, kept))

    def _add_descriptor_source(self, stage: sg.AddDescriptorSource, effects: Effects) -> None:
        self.catalog.create_descriptor_source(stage.source, stage.content)
        effects.undo.append(lambda: self.catalog.drop_descriptor_source(stage.source.name))


def _readable(read: Callable[[], Secrets]) -> Secrets:
    """The secrets that are kept; none if their key is lost, for then they are being given anew."""
    try:
        return read()
    except MillpondError as error:
        if error.name != "SECRETS_UNREADABLE":
            raise
        return Secrets()
