"""Schemas by their ids: asked for once, those that are of no use again after a while."""

from __future__ import annotations

import pytest

from millpond.avro_types import UnreadableSchemaError
from millpond.stores.formats.undecodable import UndecodableError
from millpond.stores.known_schemas import ASK_AGAIN_SECONDS, KnownSchemas


class World:
    """Has schemas of even ids; its clock is set by the test."""

    def __init__(self) -> None:
        self.now = 0.0
        self.asked: list[int] = []
        self.schemas = KnownSchemas(self.ask, lambda: self.now)

    def ask(self, schema_id: int) -> str:
        self.asked.append(schema_id)
        if schema_id % 2:
            raise UnreadableSchemaError(f"none {schema_id}")
        return f"schema {schema_id}"


def test_a_schema_is_asked_for_once_and_at_hand_from_then_on() -> None:
    world = World()
    assert world.schemas.at_hand(2) is None
    assert world.schemas.unknown([1, 2]) == {1, 2}
    world.schemas.fetch([1, 2])
    assert (world.schemas.at_hand(1), world.schemas.at_hand(2)) == (None, "schema 2")
    assert world.schemas.unknown([1, 2]) == set()
    assert [world.schemas.get(2), world.schemas.get(2)] == ["schema 2", "schema 2"]
    assert world.asked == [1, 2]


def test_an_id_of_no_use_is_asked_for_again_after_a_while_and_forgotten_when_another_comes() -> None:
    world = World()
    for schema_id in (1, 3):
        for _ in range(2):
            with pytest.raises(UndecodableError, match=f"none {schema_id}"):
                world.schemas.get(schema_id)
        world.now += 1
    assert world.asked == [1, 3]
    world.now = ASK_AGAIN_SECONDS + 0.5
    assert world.schemas.unknown([1, 3]) == {1}
    world.schemas.fetch([5])
    assert list(world.schemas._unusable) == [3, 5]
    world.schemas.fetch([1])
    assert world.asked == [1, 3, 5, 1]
