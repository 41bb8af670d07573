"""What CREATE statements make, field by field."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from millpond.catalog.model import Relation
from millpond.plan import stages as sg
from tests.plan.planning import Session, Topic, stage_of, stages_of

CASES = [
    pytest.param(case, id=case["name"])
    for case in tomllib.loads(Path(__file__).with_name("relations.toml").read_text("utf-8"))["case"]
]

KNOWN = """
CREATE DATABASE shop;
CREATE STREAM clicks (event_time BIGINT, url VARCHAR, userid VARCHAR, tags ARRAY<VARCHAR>)
  WITH ('topic' = 'clicks', 'value.format' = 'json', 'key.type' = 'VARCHAR');
CREATE CHANGELOG users (id VARCHAR, name VARCHAR, PRIMARY KEY (id)) WITH ('value.format' = 'json');
CREATE STREAM words (word VARCHAR) WITH ('value.format' = 'primitive');
"""


@pytest.fixture(scope="module")
def session() -> Session:
    session = Session({"clicks": Topic(4, 2), "there": Topic(7, 1)})
    session.run(KNOWN)
    return session


@pytest.mark.parametrize("case", CASES)
def test_a_statement_makes_a_relation_with_these_fields(session: Session, case: dict[str, Any]) -> None:
    planned = session.plan(case["sql"])
    relation = stage_of(planned, sg.RegisterRelation).relation
    expected = {k: v for k, v in case.items() if k not in ("name", "sql")}
    assert {k: found(k, planned, relation) for k in expected} == expected | wanted(expected, relation)


def wanted(expected: dict[str, Any], relation: Relation) -> dict[str, Any]:
    """A topic that only begins as expected is taken whole."""
    begins = expected.get("topic_begins")
    return {"topic_begins": relation.topic} if begins and relation.topic.startswith(begins) else {}


def found(field: str, planned: sg.Planned, relation: Relation) -> Any:
    """A field of a case, as it came out."""
    ensured = stages_of(planned, sg.EnsureTopic)
    match field:
        case "columns":
            return ", ".join(f"{c.name} {c.type}" for c in relation.columns)
        case "path":
            return list(planned.path)
        case "key":
            return [relation.key_format or False, str(relation.key_type) if relation.key_type else False]
        case "topic_begins":
            return relation.topic
        case "sink_topic":
            return topic_facts(ensured[0])
        case "dead_letters":
            return ensured[1].topic
        case "stages":
            return [type(s).__name__ for s in planned.stages]
        case "sink_key":
            return list(stage_of(planned, sg.StartQuery).plan.key)
        case "having":
            return stage_of(planned, sg.StartQuery).plan.having is not None
        case "producer":
            return dict(stage_of(planned, sg.StartQuery).plan.producer)
    value = getattr(relation, field)
    return list(value) if isinstance(value, tuple) else str(value)


def topic_facts(stage: sg.EnsureTopic) -> dict[str, Any]:
    """Partitions, replicas and settings; a changelog's segment sizes are the same for all."""
    counts = {"partitions": stage.partitions, "replicas": stage.replicas}
    settings = {k: v for k, v in stage.config.items() if not k.startswith("segment.")}
    return {**{k: v for k, v in counts.items() if v is not None}, **settings}
