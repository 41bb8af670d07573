"""What the server and the writer's process say to each other: JSON lines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from millpond.catalog.model import Relation, RelationKind
from millpond.errors import MillpondError
from millpond.types import ArrayType, Column, DataType, DecimalType, Field, MapType, Sized, StructType


def type_to_json(type_: DataType) -> dict[str, Any]:
    """A type as an object."""
    match type_:
        case ArrayType():
            return {"name": type_.name, "element": type_to_json(type_.element)}
        case MapType():
            return {"name": type_.name, "key": type_to_json(type_.key), "value": type_to_json(type_.value)}
        case StructType():
            return {"name": type_.name, "fields": [[f.name, type_to_json(f.type)] for f in type_.fields]}
        case DecimalType():
            return {"name": type_.name, "precision": type_.precision, "scale": type_.scale}
        case Sized():
            return {"name": type_.name, "size": type_.size}
    return {"name": type_.name}


def type_from_json(data: Mapping[str, Any]) -> DataType:
    """The inverse of `type_to_json`."""
    match data["name"]:
        case "ARRAY":
            return ArrayType(element=type_from_json(data["element"]))
        case "MAP":
            return MapType(key=type_from_json(data["key"]), value=type_from_json(data["value"]))
        case "STRUCT":
            return StructType(fields=tuple(Field(n, type_from_json(t)) for n, t in data["fields"]))
        case "DECIMAL":
            return DecimalType(precision=data["precision"], scale=data["scale"])
    return Sized(data["name"], data["size"]) if "size" in data else DataType(data["name"])


def relation_to_json(relation: Relation) -> dict[str, Any]:
    """A relation as an object."""
    data = {f.name: getattr(relation, f.name) for f in fields(relation)}
    data["columns"] = [[c.name, type_to_json(c.type), c.nullable] for c in relation.columns]
    data["key_type"] = None if relation.key_type is None else type_to_json(relation.key_type)
    data["properties"] = dict(relation.properties)
    return data


def relation_from_json(data: Mapping[str, Any]) -> Relation:
    """The inverse of `relation_to_json`."""
    changed = {
        "kind": RelationKind(data["kind"]),
        "columns": tuple(Column(name, type_from_json(t), nullable) for name, t, nullable in data["columns"]),
        "key_type": None if data["key_type"] is None else type_from_json(data["key_type"]),
        "primary_key": tuple(data["primary_key"]),
        "key_columns": tuple(data["key_columns"]),
    }
    return Relation(**{**data, **changed})


def error_to_json(error: MillpondError) -> dict[str, Any]:
    """An error's name and its parameters as text."""
    return {"name": error.name, "params": {k: str(v) for k, v in error.params.items()}}


def error_from_json(data: Mapping[str, Any]) -> MillpondError:
    """The inverse of `error_to_json`."""
    return MillpondError(data["name"], **data["params"])
