"""What a function takes, as a short text: ``"VARCHAR, INTEGER, [VARCHAR = ' ']"``.

Words: a type name (an argument is cast to it implicitly where that loses nothing), or
ANY, NUMBER, INTEGRAL, DATETIME (DATE or a timestamp), INSTANT (a timestamp; a DATE is cast), SCALAR (anything
but arrays, maps and structs), PRINTABLE (a scalar, cast to VARCHAR),
ARRAY, MAP, STRUCT, T (all T's take their common type), ARRAY<T>, MAP<K>, S (as T, of
scalars that are compared: a text constant beside a number is a number), OPERAND (numbers of one kind; a decimal
keeps its own precision), UNIT, PATTERN (to read times), FORMAT (to write them), REGEX, REPLACEMENT,
JSONPATH and LITERAL (constants, checked when the statement is read). ``...`` repeats the last word,
``[X]`` is optional, ``[X = 1]`` is filled in.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from millpond.plan.coercion import (
    TIMESTAMPS,
    castable,
    coerce,
    common_type,
    decimal_of,
    fits,
    is_decimal,
    is_integer,
    is_number,
    is_text_literal,
)
from millpond.plan.expressions import Cast, Expr, Literal
from millpond.plan.functions.constants import CHECKS
from millpond.types import (
    BIGINT,
    DOUBLE,
    INTEGER,
    NESTED,
    NULL,
    TIMESTAMP,
    VARCHAR,
    ArrayType,
    DataType,
    MapType,
    Sized,
)

ReturnRule: TypeAlias = DataType | Callable[[Sequence[Expr]], DataType]
"""A fixed type, or the type from the coerced arguments."""

CONSTANTS = frozenset(CHECKS) | {"LITERAL"}
_WORD = re.compile(r"\[[^\]]*\]|[^,\s]+")
SHARED = ("T", "S", "OPERAND")


@dataclass(frozen=True, slots=True)
class Parameter:
    """One word of a signature."""

    word: str
    optional: bool = False
    default: Literal | None = None


@dataclass(frozen=True, slots=True)
class Signature:
    """What a function takes and returns; `text` is the source of `parameters`."""

    text: str
    parameters: tuple[Parameter, ...]
    variadic: bool
    returns: ReturnRule

    @classmethod
    def parse(cls, text: str, returns: ReturnRule) -> Signature:
        variadic = text.endswith("...")
        words = _WORD.findall(text.removesuffix("..."))
        return cls(text, tuple(map(_parameter, words)), variadic, returns)

    def match(self, args: Sequence[Expr]) -> tuple[Expr, ...] | None:
        """`args` coerced and completed with defaults, or None where they do not fit."""
        words = self._words(len(args))
        if words is None:
            return None
        shared = _common(words, args)
        found: list[Expr] = []
        for word, arg in zip(words, args, strict=True):
            target = _accept(word.word, arg, shared)
            if target is None:
                return None
            found.append(_convert(word.word, arg, target))
        missing = self.parameters[len(args) :] if not self.variadic else ()
        return (*found, *(p.default for p in missing if p.default is not None))

    def is_constant(self, index: int) -> bool:
        """Whether argument `index` must be a constant, so that its value may decide how the call is written."""
        return index < len(self.parameters) and self.parameters[index].word in CONSTANTS

    def result(self, args: Sequence[Expr]) -> DataType:
        """The type of a call with these coerced arguments."""
        return self.returns if isinstance(self.returns, DataType) else self.returns(args)

    def _words(self, count: int) -> tuple[Parameter, ...] | None:
        """The parameter that stands for each of `count` arguments, or None where the number is wrong."""
        least = sum(not p.optional for p in self.parameters)
        if count < least or (count > len(self.parameters) and not self.variadic):
            return None
        extra = max(0, count - len(self.parameters))
        return (*self.parameters[:count], *self.parameters[-1:] * extra)


def _parameter(word: str) -> Parameter:
    if not word.startswith("["):
        return Parameter(word)
    name, _, default = word.strip("[]").partition(" = ")
    return Parameter(name, True, _default(ast.literal_eval(default)) if default else None)


def _default(value: object) -> Literal:
    if isinstance(value, str):
        return Literal(VARCHAR, value)
    if isinstance(value, int):
        return Literal(INTEGER, value)
    raise TypeError(f"no default of {type(value).__name__}")


def _common(words: Sequence[Parameter], args: Sequence[Expr]) -> DataType | None:
    """The type that T stands for in this call."""
    pairs = list(zip(words, args, strict=True))
    shared: list[Expr] = [arg for word, arg in pairs if word.word in SHARED]
    for word, arg in pairs:
        if word.word == "ARRAY<T>" and isinstance(arg.type, ArrayType):
            shared.insert(0, Literal(arg.type.element, None))
        if word.word == "MAP<K>" and isinstance(arg.type, MapType):
            shared.insert(0, Literal(arg.type.key, None))
    comparing = any(word.word == "S" for word, _ in pairs)
    return common_type(shared, comparing=comparing) if shared else None


def _accept(word: str, arg: Expr, shared: DataType | None) -> DataType | None:
    """The type that `arg` takes as parameter `word`, or None."""
    if word in SHARED:
        return _shared(word, arg, shared)
    if word in CONSTANTS:
        return arg.type if isinstance(arg, Literal) else None
    if word in ("DATETIME", "INSTANT") and is_text_literal(arg):
        return TIMESTAMP
    if word in _CLASSES:
        return _CLASSES[word](arg.type)
    if word == "ARRAY<T>":
        return ArrayType(element=shared) if isinstance(arg.type, ArrayType) and shared else None
    if word == "MAP<K>":
        return arg.type if isinstance(arg.type, MapType) and arg.type.key == shared else None
    target = _named(word)
    if not fits(arg, target):
        return None
    return arg.type if arg.type.name == target.name and arg.type != NULL else target


def _shared(word: str, arg: Expr, shared: DataType | None) -> DataType | None:
    if shared is None or word == "T":
        return shared
    if word == "S":
        return None if shared.name in NESTED else shared
    if shared == NULL:
        return DOUBLE
    if not is_number(shared):
        return None
    return decimal_of(arg.type) if is_decimal(shared) and arg.type != NULL else shared


def _convert(word: str, arg: Expr, target: DataType) -> Expr:
    if word in CHECKS and isinstance(arg, Literal):
        return Literal(arg.type, CHECKS[word](arg.value))
    if word == "PRINTABLE" and arg.type.name != "VARCHAR" and castable(arg.type, VARCHAR):
        return Literal(VARCHAR, None) if arg.type == NULL else Cast(VARCHAR, arg)
    return coerce(arg, target)


def _named(word: str) -> DataType:
    return Sized(word) if word in ("VARCHAR", "VARBINARY", "TIME") else _SIZED.get(word, DataType(word))


_SIZED: dict[str, DataType] = {name: Sized(name, 3) for name in TIMESTAMPS}


def _if(test: Callable[[DataType], bool], null: DataType) -> Callable[[DataType], DataType | None]:
    """Keeps a type that passes `test`; a bare NULL takes the type `null`."""
    return lambda type: null if type == NULL else type if test(type) else None


_CLASSES: dict[str, Callable[[DataType], DataType | None]] = {
    "ANY": _if(lambda t: True, NULL),
    "NUMBER": _if(is_number, DOUBLE),
    "INTEGRAL": _if(is_integer, BIGINT),
    "DATETIME": _if(lambda t: t.name in ("DATE", *TIMESTAMPS), TIMESTAMP),
    "INSTANT": lambda t: TIMESTAMP if t.name in ("DATE", "NULL") else t if t.name in TIMESTAMPS else None,
    "SCALAR": _if(lambda t: t.name not in NESTED, VARCHAR),
    "PRINTABLE": _if(lambda t: t.name not in NESTED, VARCHAR),
    "ARRAY": _if(lambda t: t.name == "ARRAY", ArrayType()),
    "MAP": _if(lambda t: t.name == "MAP", MapType()),
    "STRUCT": _if(lambda t: t.name == "STRUCT", NULL),
}
