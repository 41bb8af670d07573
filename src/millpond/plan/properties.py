"""The WITH properties that statements take, as data; anything else is refused with the nearest known name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from millpond.catalog.model import DELIMITER_WORDS
from millpond.errors import MillpondError
from millpond.plan.functions.temporal import LAST_SECOND
from millpond.sql.statements import Properties, Property
from millpond.suggestion import suggestion

MOST = 2**31 - 1
"""Of a number of things: clients of stores count in 32 bits."""
LONGEST_MILLIS = 2**63 // 1000
"""Some 292,000 years: Spark counts microseconds in 64 bits."""
LAST_TIME = 1000 * LAST_SECOND + 999
"""The end of the year 9999 in epoch milliseconds: the clients of some stores know no later time."""


@dataclass(frozen=True, slots=True)
class PropertyKind:
    """A property: how its value is read (`read` raises ValueError), and what it may be, in words."""

    read: Callable[[Any], Any]
    takes: str


def _text(value: Any) -> str:
    if value is None or isinstance(value, bool):
        raise ValueError
    return str(value)


def _whole(least: int, most: int) -> Callable[[Any], int]:
    """Reads a whole number of these bounds."""

    def read(value: Any) -> int:
        number = int(str(value))
        if isinstance(value, bool) or not least <= number <= most:
            raise ValueError
        return number

    return read


def _flag(value: Any) -> bool:
    return {"true": True, "false": False}[str(value).lower()]


def _position(value: Any) -> str:
    text = str(value).lower()
    return text if text in ("earliest", "latest") else str(_whole(0, LAST_TIME)(text))


def _names(value: Any) -> tuple[str, ...]:
    names = tuple(part.strip() for part in _text(value).split(",") if part.strip())
    if not names:
        raise ValueError
    return names


FORMATS = ("json", "avro", "protobuf", "delimited", "primitive")


def _format(value: Any) -> str:
    text = str(value).lower()
    if text not in FORMATS:
        raise ValueError
    return text


def _delimiter(value: Any) -> str:
    """A character, or the name of one: so that DESCRIBE can show it."""
    text = {word: name for name, word in DELIMITER_WORDS.items()}.get(value, _text(value))
    if text.upper() in DELIMITER_WORDS:
        return text.upper()
    if len(text) != 1 or text in '"\r\n\0' or text > "\uffff":
        raise ValueError
    return text


def _one_of(*words: str) -> PropertyKind:
    def read(value: Any) -> str:
        text = str(value).lower()
        if text not in words:
            raise ValueError
        return text

    return PropertyKind(read, "one of " + ", ".join(word.upper() for word in words))


TEXT = PropertyKind(_text, "text")
COUNT = PropertyKind(_whole(1, MOST), f"a whole number from 1 to {MOST}")
MILLIS = PropertyKind(_whole(0, LONGEST_MILLIS), f"a whole number of milliseconds, at most {LONGEST_MILLIS}")
FLAG = PropertyKind(_flag, "TRUE or FALSE")
POSITION = PropertyKind(_position, "'earliest', 'latest' or a time in epoch milliseconds, up to the year 9999")
NAMES = PropertyKind(_names, "column names separated by commas")

DELIMITER = PropertyKind(_delimiter, "one character that is no quote or line break, or SPACE or TAB")
FORMAT = PropertyKind(_format, "one of " + ", ".join(FORMATS).upper())

TOPIC = {
    "store": TEXT,
    "topic": TEXT,
    "topic.partitions": COUNT,
    "topic.replicas": COUNT,
    "topic.shards": COUNT,
    "value.format": FORMAT,
    "key.format": FORMAT,
    "value.delimiter": DELIMITER,
    "key.delimiter": DELIMITER,
    "value.descriptor.name": TEXT,
    "key.descriptor.name": TEXT,
    "key.type": TEXT,
    "timestamp": TEXT,
    "timestamp.format": _one_of("sql", "iso8601"),
    "enable.upsert.mode": FLAG,
}
RELATION = {**TOPIC, "starting.position": POSITION}
SINK = {**TOPIC, "key.columns": NAMES, "value.columns.exclude": NAMES, "starting.position": POSITION}
_NOT_OF_VIEWS = ("key.columns", "value.delimiter", "key.delimiter", "value.descriptor.name", "key.descriptor.name")
VIEW = {**{k: v for k, v in SINK.items() if k not in _NOT_OF_VIEWS}, "retention.millis": MILLIS}
"""A view's key is that of its rows, and its records are JSON."""
SOURCE = {
    "timestamp": TEXT,
    "timestamp.format": _one_of("sql", "iso8601"),
    "starting.position": POSITION,
    "source.allow.latency.millis": MILLIS,
    "source.idle.timeout.millis": MILLIS,
    "source.deserialization.error.handling": _one_of("terminate", "ignore", "ignore_and_log"),
    "source.deserialization.error.log.topic": TEXT,
    "source.deserialization.error.log.store": TEXT,
}
QUERY = {"query.name": TEXT, "query.version": COUNT}
SETTINGS = {"starting.position": POSITION}
"""What SET takes: defaults for the statements of the session."""

PREFIXES = ("kafka.topic.", "kafka.producer.")
"""Any Kafka setting may follow these, where a topic may be created or written."""

CONNECTION = ("bootstrap.", "sasl.", "security.", "ssl.")
"""How a producer connects is its store's."""

NOT_YET = {
    "state.ttl.millis": "Dropping state by age",
    "resume.from.query.id": "Resuming from another query's position",
    "resume.from.query.name": "Resuming from another query's position",
    "resume.from.query.version": "Resuming from another query's position",
    "postgresql.slot.name": "Change data capture from PostgreSQL",
}
"""Known to DeltaStream, not to this server: refused by name."""

ALIASES = {
    "kafka.partitions": "topic.partitions",
    "kafka.replicas": "topic.replicas",
    "kinesis.shards": "topic.shards",
}


def read_properties(
    properties: Properties, known: Mapping[str, PropertyKind], statement: str, prefixes: bool = False
) -> dict[str, Any]:
    """The values of `properties` by name. Raises UNKNOWN_PROPERTY, BAD_PROPERTY, DUPLICATE_PROPERTY, UNSUPPORTED."""
    values: dict[str, Any] = {}
    for item in properties:
        key = ALIASES.get(item.key, item.key)
        if key in values:
            raise MillpondError("DUPLICATE_PROPERTY", position=item.position, name=item.key)
        values[key] = _read(item, key, known, statement, prefixes)
    return values


def _read(item: Property, key: str, known: Mapping[str, PropertyKind], statement: str, prefixes: bool) -> Any:
    if prefixes and key.startswith(PREFIXES):
        _refuse_connection(item, key)
        return read_property(item, TEXT)
    if key in known:
        return read_property(item, known[key])
    if key in NOT_YET:
        raise MillpondError(
            "UNSUPPORTED",
            position=item.position,
            feature=f"{NOT_YET[key]} (property '{key}')",
            instead=f"Leave '{key}' out.",
        )
    raise MillpondError(
        "UNKNOWN_PROPERTY",
        position=item.position,
        name=item.key,
        statement=statement,
        suggestion=suggestion(key, known, "It takes: " + ", ".join(sorted(known)) + "."),
    )


def _refuse_connection(item: Property, key: str) -> None:
    """Logins belong into a store, which keeps them encrypted: a relation shows its properties."""
    if key.removeprefix("kafka.producer.").startswith(CONNECTION):
        raise MillpondError(
            "UNSUPPORTED",
            position=item.position,
            feature=f"The property '{key}' here",
            instead="CREATE STORE or UPDATE STORE says how to connect, and keeps secrets encrypted.",
        )


def read_property(item: Property, kind: PropertyKind) -> Any:
    """The value of one property. Raises BAD_PROPERTY, UNSUPPORTED."""
    try:
        return kind.read(item.value)
    except MillpondError as error:
        error.position = error.position or item.position
        raise
    except (ValueError, KeyError):
        raise MillpondError(
            "BAD_PROPERTY", position=item.position, name=item.key, value=item.value, takes=kind.takes
        ) from None
