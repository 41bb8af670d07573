"""The SQL data types, how they are written, and how alike they are.

A type is an immutable value. `str(t)` is the spelling that clients see in result metadata and
that `parse` in `millpond.sql` reads back: ``ARRAY<VARCHAR>``, ``DECIMAL(10, 2)``,
``STRUCT<phone VARCHAR, city VARCHAR>``.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DataType:
    """Any SQL type; the scalar ones are named by `name` alone."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Sized(DataType):
    """A type with one optional number: VARCHAR(n), VARBINARY(n), TIME(p), TIMESTAMP(p), TIMESTAMP_LTZ(p)."""

    size: int | None = None

    def __str__(self) -> str:
        return self.name if self.size is None else f"{self.name}({self.size})"


@dataclass(frozen=True, slots=True)
class DecimalType(DataType):
    """DECIMAL(precision, scale); precision 1 to 38."""

    name: str = "DECIMAL"
    precision: int = 10
    scale: int = 0

    def __str__(self) -> str:
        return f"DECIMAL({self.precision}, {self.scale})"


@dataclass(frozen=True, slots=True)
class ArrayType(DataType):
    """ARRAY<element>."""

    name: str = "ARRAY"
    element: DataType = DataType("VARCHAR")

    def __str__(self) -> str:
        return f"ARRAY<{self.element}>"


@dataclass(frozen=True, slots=True)
class MapType(DataType):
    """MAP<key, value>."""

    name: str = "MAP"
    key: DataType = DataType("VARCHAR")
    value: DataType = DataType("VARCHAR")

    def __str__(self) -> str:
        return f"MAP<{self.key}, {self.value}>"


@dataclass(frozen=True, slots=True)
class Field:
    """One member of a STRUCT."""

    name: str
    type: DataType

    def __str__(self) -> str:
        plain = self.name.isidentifier() and self.name == self.name.lower()
        name = self.name if plain else '"' + self.name.replace('"', '""') + '"'
        return f"{name} {self.type}"


@dataclass(frozen=True, slots=True)
class StructType(DataType):
    """STRUCT<name type, ...>."""

    name: str = "STRUCT"
    fields: tuple[Field, ...] = ()

    def __str__(self) -> str:
        return f"STRUCT<{', '.join(map(str, self.fields))}>"

    def field(self, name: str) -> Field | None:
        """The member called `name`: exactly first, then without case if that is unambiguous."""
        exact = [f for f in self.fields if f.name == name]
        folded = [f for f in self.fields if f.name.lower() == name.lower()]
        found = exact or folded
        return found[0] if len(found) == 1 else None


BOOLEAN = DataType("BOOLEAN")
TINYINT = DataType("TINYINT")
SMALLINT = DataType("SMALLINT")
INTEGER = DataType("INTEGER")
BIGINT = DataType("BIGINT")
FLOAT = DataType("FLOAT")
DOUBLE = DataType("DOUBLE")
DATE = DataType("DATE")
BYTES = DataType("BYTES")
VARCHAR = Sized("VARCHAR")
VARBINARY = Sized("VARBINARY")
TIME = Sized("TIME")
TIMESTAMP = Sized("TIMESTAMP", 3)
TIMESTAMP_LTZ = Sized("TIMESTAMP_LTZ", 3)
NULL = DataType("NULL")
"""The type of a bare NULL: fits everywhere, never a column's type."""

INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")
NUMBERS = (*INTEGERS, "DECIMAL", "FLOAT", "DOUBLE")
TEMPORAL = ("DATE", "TIME", "TIMESTAMP", "TIMESTAMP_LTZ")
TEXT = ("VARCHAR",)
BINARY = ("VARBINARY", "BYTES")
NESTED = ("ARRAY", "MAP", "STRUCT")


@dataclass(frozen=True, slots=True)
class Column:
    """A named, typed column of a relation, a plan or a result."""

    name: str
    type: DataType
    nullable: bool = True
