"""What is wrong with a setting, in our own words."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from annotated_types import Ge, Le
from pydantic import ValidationError
from pydantic.fields import FieldInfo

from millpond.config import Settings
from millpond.errors import MillpondError
from millpond.suggestion import suggestion


def setting_error(error: ValidationError) -> MillpondError:
    """UNKNOWN_SETTING or SETTING_INVALID for the first setting that is wrong."""
    first = error.errors()[0]
    name = str(first["loc"][0]) if first["loc"] else ""
    field = Settings.model_fields.get(name)
    if field is None:
        known = suggestion(name, Settings.model_fields, "docs/operations.md lists the settings.")
        return MillpondError("UNKNOWN_SETTING", setting=name, suggestion=known)
    return MillpondError("SETTING_INVALID", setting=name, value=first["input"], takes=takes(field))


def takes(field: FieldInfo) -> str:
    """The values of a setting, to stand after "It takes"."""
    if get_origin(field.annotation) is Literal:
        *words, last = get_args(field.annotation)
        return f"{', '.join(words)} or {last}"
    return _KINDS.get(field.annotation, "a text") + _range(field)


_KINDS: dict[Any, str] = {bool: "true or false", int: "a whole number", float: "a number", Path: "the path of a folder"}


def _range(field: FieldInfo) -> str:
    least = next((limit.ge for limit in field.metadata if isinstance(limit, Ge)), None)
    most = next((limit.le for limit in field.metadata if isinstance(limit, Le)), None)
    return (f" from {least}" if least is not None else "") + (f" to {most}" if most is not None else "")
