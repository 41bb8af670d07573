"""Carries out stages in order; when one fails, those before it are undone in reverse."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

from millpond.catalog.catalog import Catalog
from millpond.catalog.model import Relation
from millpond.errors import MillpondError
from millpond.plan import stages as sg
from millpond.plan.pruning import prune_scan
from millpond.queries.registry import Queries, starting_offsets
from millpond.serve.values import rows_to_records
from millpond.stores.protocol import Log, NewRecord

logger = logging.getLogger(__name__)

Undo = Callable[[], None]


class Views(Protocol):
    """What the runner asks of the view store."""

    def add(self, relation: Relation) -> None: ...

    def remove(self, relation_id: str) -> None: ...

    def add_index(self, relation_id: str, name: str, columns: tuple[str, ...]) -> None: ...

    def remove_index(self, relation_id: str, name: str) -> None: ...


def nothing() -> None:
    """The undo of a step that needs none."""


class Runner:
    """One `do` for each stage class; each returns its undo."""

    def __init__(self, catalog: Catalog, queries: Queries, views: Views, log: Callable[[str], Log]) -> None:
        self.catalog, self.queries, self.views, self.log = catalog, queries, views, log
        self.does: dict[type[sg.Stage], Callable[[Any], Undo]] = {
            sg.EnsureTopic: self._ensure_topic,
            sg.DeleteTopic: self._delete_topic,
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
        }

    def run(self, stages: tuple[sg.Stage, ...]) -> None:
        """Carry out `stages`; all of them or, but for topics' contents, none."""
        undos: list[Undo] = []
        try:
            for stage in stages:
                undos.append(self.does[type(stage)](stage))
        except Exception:
            for undo in reversed(undos):
                self._undo(undo)
            raise

    def _undo(self, undo: Undo) -> None:
        try:
            undo()
        except Exception:  # the first error is the one to report; the rest of the undoing must go on
            logger.exception("undoing a stage")

    # --- topics ---

    def _ensure_topic(self, stage: sg.EnsureTopic) -> Undo:
        log = self.log(stage.store)
        try:
            there = log.describe(stage.topic)
        except MillpondError as error:
            if error.name != "TOPIC_NOT_FOUND":
                raise
            log.create(stage.topic, stage.partitions or 1, stage.replicas or 1, dict(stage.config))
            return lambda: log.delete(stage.topic)
        for what, wanted, found in (
            ("partitions", stage.partitions, there.partitions),
            ("replicas", stage.replicas, there.replicas),
        ):
            if wanted is not None and wanted != found:
                raise MillpondError("TOPIC_DIFFERS", topic=stage.topic, what=what, wanted=wanted, found=found)
        return nothing

    def _delete_topic(self, stage: sg.DeleteTopic) -> Undo:
        try:
            self.log(stage.store).delete(stage.topic)
        except MillpondError as error:
            if error.name != "TOPIC_NOT_FOUND":
                raise
        return nothing

    # --- relations and views ---

    def _register(self, stage: sg.RegisterRelation) -> Undo:
        self.catalog.create_relation(stage.relation)
        return lambda: self.catalog.drop_relation(stage.relation.id)

    def _unregister(self, stage: sg.UnregisterRelation) -> Undo:
        for query in self.catalog.queries_writing(stage.relation.id):
            self.queries.forget(query.id)
            self.catalog.drop_query(query.id)
        for query in self.catalog.queries_reading(stage.relation.id):
            self.queries.forget(query.id)
            self.catalog.drop_query(query.id)
        self.catalog.drop_relation(stage.relation.id)
        return lambda: self._reregister(stage.relation)

    def _reregister(self, relation: Relation) -> None:
        self.catalog.create_relation(relation)

    def _update(self, stage: sg.UpdateRelation) -> Undo:
        self.catalog.update_relation(stage.relation)
        return lambda: self._restore(stage.before)

    def _restore(self, relation: Relation) -> None:
        self.catalog.update_relation(relation)

    def _build_view(self, stage: sg.BuildView) -> Undo:
        self.views.add(stage.relation)
        return lambda: self.views.remove(stage.relation.id)

    def _remove_view(self, stage: sg.RemoveView) -> Undo:
        self.views.remove(stage.relation.id)
        return lambda: self.views.add(stage.relation)

    def _add_index(self, stage: sg.AddIndex) -> Undo:
        self.catalog.create_index(stage.index)
        try:
            self.views.add_index(stage.view.id, stage.index.name, stage.index.columns)
        except Exception:
            self.catalog.drop_index(stage.view.id, stage.index.name)
            raise
        return nothing

    def _remove_index(self, stage: sg.RemoveIndex) -> Undo:
        self.catalog.drop_index(stage.view.id, stage.index.name)
        self.views.remove_index(stage.view.id, stage.index.name)
        return nothing

    # --- queries ---

    def _start_query(self, stage: sg.StartQuery) -> Undo:
        plan = prune_scan(stage.plan)
        scans = self.log(plan.relation.store)
        offsets = starting_offsets(plan, scans)
        properties = {**stage.query.properties, **({"starting.offsets": offsets} if offsets else {})}
        query = replace(stage.query, properties=properties)
        self.catalog.create_query(query)
        self.queries.start(query, plan)
        return lambda: self._unstart(query.id)

    def _unstart(self, query_id: str) -> None:
        self.queries.forget(query_id)
        self.catalog.drop_query(query_id)

    def _restart_query(self, stage: sg.RestartQuery) -> Undo:
        self.queries.restart(stage.query)
        return nothing

    def _stop_query(self, stage: sg.StopQuery) -> Undo:
        self.queries.terminate(stage.query)
        return nothing

    # --- rows and names ---

    def _write_rows(self, stage: sg.WriteRows) -> Undo:
        self.log(stage.relation.store).produce(stage.relation.topic, rows_to_records(stage.relation, stage.rows))
        return nothing

    def _write_entity(self, stage: sg.WriteEntity) -> Undo:
        self.log(stage.store).produce(stage.topic, [NewRecord(None, stage.value.encode())])
        return nothing

    def _add_namespace(self, stage: sg.AddNamespace) -> Undo:
        if stage.schema is None:
            self.catalog.create_database(stage.database)
        else:
            self.catalog.create_schema(stage.database, stage.schema)
        return nothing

    def _remove_namespace(self, stage: sg.RemoveNamespace) -> Undo:
        if stage.schema is None:
            self.catalog.drop_database(stage.database)
        else:
            self.catalog.drop_schema(stage.database, stage.schema)
        return nothing
