"""Carries out stages in order; when one fails, those before it are undone in reverse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

from millpond.catalog.catalog import Catalog
from millpond.catalog.dependents import live, refuse_used_relation
from millpond.catalog.model import PersistentQuery, QueryState, Relation
from millpond.errors import MillpondError
from millpond.plan import stages as sg
from millpond.plan.pruning import prune_scan
from millpond.queries.registry import Queries
from millpond.queries.source_position import starting_offsets
from millpond.serve.effects import Effects
from millpond.serve.store_stages import Check, StoreStages
from millpond.serve.values import entity_bytes, rows_to_records
from millpond.stores.codecs import Codecs
from millpond.stores.protocol import Log, NewRecord
from millpond.stores.schemas import subject_of


class Views(Protocol):
    """What the runner asks of the view store."""

    def add(self, relation: Relation) -> None: ...

    def remove(self, relation_id: str) -> None: ...

    def add_index(self, relation_id: str, name: str, columns: tuple[str, ...]) -> None: ...

    def remove_index(self, relation_id: str, name: str) -> None: ...

    def store_changed(self, store: str) -> None: ...


class Runner:
    """One `do` for each stage class; it adds to the statement's `Effects` as its own effects happen.

    `dropped` is told of a relation that is gone for good.
    """

    def __init__(
        self,
        catalog: Catalog,
        queries: Queries,
        views: Views,
        log: Callable[[str], Log],
        check: Check,
        dropped: Callable[[Relation], None],
        codecs: Callable[[str], Codecs],
    ) -> None:
        self.catalog, self.queries, self.views, self.log, self.dropped = catalog, queries, views, log, dropped
        self.codecs = codecs
        self.does: dict[type[sg.Stage], Callable[[Any, Effects], None]] = {
            sg.EnsureTopic: self._ensure_topic,
            sg.DeleteTopic: self._delete_topic,
            sg.RegisterSchema: self._register_schema,
            sg.RegisterRelation: self._register,
            sg.UnregisterRelation: self._unregister,
            sg.UpdateRelation: self._update,
            sg.BuildView: self._build_view,
            sg.RemoveView: self._remove_view,
            sg.AddIndex: self._add_index,
            sg.RemoveIndex: self._remove_index,
            sg.StartQuery: self._start_query,
            sg.RestartQuery: self._restart_query,
            sg.StopQuery: self._stop_query,
            sg.WriteRows: self._write_rows,
            sg.WriteEntity: self._write_entity,
            sg.AddNamespace: self._add_namespace,
            sg.RemoveNamespace: self._remove_namespace,
            **StoreStages(catalog, log, check, views.store_changed).does,
        }

    def run(self, stages: tuple[sg.Stage, ...]) -> None:
        """Carry out `stages`: all of them, or none.

        A DROP of a view: 1. its query stops; 2. its rows leave the view store; 3. the catalog forgets the view, its
        indexes and its query; 4. its topic is deleted; 5. the query's checkpoint goes. An error in 1 to 4 brings
        everything back (the rows by reading the topic again), for nothing before 4 is lost. A kill -9 after 1 or 2
        leaves a view whose query is terminated: DROP it again, or RESTART the query. After 3 it leaves a topic that
        nothing uses; the checkpoint is swept at the next start.
        """
        effects = Effects()
        try:
            for stage in stages:
                self.does[type(stage)](stage, effects)
        except BaseException:
            effects.roll_back()
            raise
        effects.complete()

    # --- topics ---

    def _ensure_topic(self, stage: sg.EnsureTopic, effects: Effects) -> None:
        log = self.log(stage.store)
        try:
            there = log.describe(stage.topic)
        except MillpondError as error:
            if error.name != "TOPIC_NOT_FOUND":
                raise
            if log.create(stage.topic, stage.partitions or 1, stage.replicas or 1, dict(stage.config)):
                effects.undo.append(lambda: log.delete(stage.topic))
            return
        for what, wanted, found in (
            ("partitions" if there.replicas else "shards", stage.partitions, there.partitions),
            ("replicas", stage.replicas, there.replicas),
        ):
            if wanted is not None and wanted != found:
                raise MillpondError("TOPIC_DIFFERS", topic=stage.topic, what=what, wanted=wanted, found=found)

    def _delete_topic(self, stage: sg.DeleteTopic, effects: Effects) -> None:
        """Never followed by a stage that may fail: it cannot be undone."""
        try:
            self.log(stage.store).delete(stage.topic)
        except MillpondError as error:
            if error.name != "TOPIC_NOT_FOUND":
                raise

    def _register_schema(self, stage: sg.RegisterSchema, effects: Effects) -> None:
        """Not undone: a schema that nobody writes by does no harm, and the registry may have had it before."""
        self.codecs(stage.store).register(stage.format, stage.subject, stage.columns)

    # --- relations and views ---

    def _register(self, stage: sg.RegisterRelation, effects: Effects) -> None:
        self.catalog.create_relation(stage.relation)
        effects.undo.append(lambda: self.catalog.drop_relation(stage.relation.id))

    def _unregister(self, stage: sg.UnregisterRelation, effects: Effects) -> None:
        """With its indexes, and the terminated queries that read or wrote it: they could not be restarted."""
        relation = stage.relation
        refuse_used_relation(self.catalog, relation)
        indexes = tuple(self.catalog.indexes(relation.id))
        found = (*self.catalog.queries_writing(relation.id), *self.catalog.queries_reading(relation.id))
        queries = tuple({q.id: q for q in found}.values())
        with self.catalog.transaction():
            for query in queries:
                self.catalog.drop_query(query.id)
            self.catalog.drop_relation(relation.id)

        def restore() -> None:
            with self.catalog.transaction():
                self.catalog.create_relation(relation)
                for index in indexes:
                    self.catalog.create_index(index)
                for query in queries:
                    self.catalog.create_query(query)

        effects.undo.append(restore)
        effects.finish += [partial(self.queries.forget, query.id) for query in queries]
        effects.finish.append(partial(self.dropped, relation))

    def _update(self, stage: sg.UpdateRelation, effects: Effects) -> None:
        self.catalog.update_relation(stage.relation)
        effects.undo.append(lambda: self.catalog.update_relation(stage.before))

    def _build_view(self, stage: sg.BuildView, effects: Effects) -> None:
        effects.undo.append(lambda: self.views.remove(stage.relation.id))
        self.views.add(stage.relation)

    def _remove_view(self, stage: sg.RemoveView, effects: Effects) -> None:
        relation, indexes = stage.relation, tuple(self.catalog.indexes(stage.relation.id))

        def restore() -> None:
            self.views.add(relation)
            for index in indexes:
                self.views.add_index(relation.id, index.name, index.columns)

        effects.undo.append(restore)
        self.views.remove(relation.id)

    def _add_index(self, stage: sg.AddIndex, effects: Effects) -> None:
        self.catalog.create_index(stage.index)
        effects.undo.append(lambda: self.catalog.drop_index(stage.view.id, stage.index.name))
        self.views.add_index(stage.view.id, stage.index.name, stage.index.columns)

    def _remove_index(self, stage: sg.RemoveIndex, effects: Effects) -> None:
        self.catalog.drop_index(stage.view.id, stage.index.name)
        effects.undo.append(lambda: self.catalog.create_index(stage.index))
        self.views.remove_index(stage.view.id, stage.index.name)

    # --- queries ---

    def _start_query(self, stage: sg.StartQuery, effects: Effects) -> None:
        plan = prune_scan(stage.plan)
        properties = {**stage.query.properties, **starting_offsets(plan, self.log)}
        query = replace(stage.query, properties=properties)
        self.catalog.create_query(query)
        effects.undo.append(lambda: self._unstart(query.id))
        self.queries.start(query, plan)

    def _unstart(self, query_id: str) -> None:
        self.queries.forget(query_id)
        self.catalog.drop_query(query_id)

    def _restart_query(self, stage: sg.RestartQuery, effects: Effects) -> None:
        self.queries.restart(stage.query)

    def _stop_query(self, stage: sg.StopQuery, effects: Effects) -> None:
        try:
            self.queries.terminate(stage.query)
        except MillpondError as error:
            if error.name != "QUERY_NOT_STOPPED":  # that one ends later, and must not be started beside itself
                self._run_again(stage.query)
            raise
        if live([stage.query]):
            effects.undo.append(lambda: self._run_again(stage.query))

    def _run_again(self, query: PersistentQuery) -> None:
        if query.intended_state is QueryState.RUNNING:
            self.queries.restart(query)

    # --- rows and names ---

    def _write_rows(self, stage: sg.WriteRows, effects: Effects) -> None:
        store = stage.relation.store
        records = rows_to_records(stage.relation, stage.rows, self.codecs(store))
        self.log(store).produce(stage.relation.topic, records)

    def _write_entity(self, stage: sg.WriteEntity, effects: Effects) -> None:
        schemas = self.codecs(stage.store).known
        key = None if stage.key is None else entity_bytes(schemas, subject_of(stage.topic, "key"), stage.key)
        value = entity_bytes(schemas, subject_of(stage.topic, "value"), stage.value)
        self.log(stage.store).produce(stage.topic, [NewRecord(key, value)])

    def _add_namespace(self, stage: sg.AddNamespace, effects: Effects) -> None:
        if stage.schema is None:
            self.catalog.create_database(stage.database)
        else:
            self.catalog.create_schema(stage.database, stage.schema)

    def _remove_namespace(self, stage: sg.RemoveNamespace, effects: Effects) -> None:
        if stage.schema is None:
            self.catalog.drop_database(stage.database)
        else:
            self.catalog.drop_schema(stage.database, stage.schema)
