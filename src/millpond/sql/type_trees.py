"""Data types to and from sqlglot's tree, as they stand in CAST, TRY_CAST and RETURNING."""

from __future__ import annotations

from sqlglot import exp

from millpond.types import BYTES, ArrayType, DataType, DecimalType, Field, MapType, Sized, StructType

_NESTED = ("ARRAY", "MAP", "STRUCT")
_SIZED = ("VARCHAR", "VARBINARY", "TIME", "TIMESTAMP", "TIMESTAMP_LTZ")
_TREES: dict[str, exp.DType] = {
    "BOOLEAN": exp.DType.BOOLEAN,
    "TINYINT": exp.DType.TINYINT,
    "SMALLINT": exp.DType.SMALLINT,
    "INTEGER": exp.DType.INT,
    "BIGINT": exp.DType.BIGINT,
    "FLOAT": exp.DType.FLOAT,
    "DOUBLE": exp.DType.DOUBLE,
    "DATE": exp.DType.DATE,
    "VARCHAR": exp.DType.VARCHAR,
    "VARBINARY": exp.DType.VARBINARY,
    "TIME": exp.DType.TIME,
    "TIMESTAMP": exp.DType.TIMESTAMP,
    "TIMESTAMP_LTZ": exp.DType.TIMESTAMPLTZ,
    "DECIMAL": exp.DType.DECIMAL,
    "ARRAY": exp.DType.ARRAY,
    "MAP": exp.DType.MAP,
    "STRUCT": exp.DType.STRUCT,
}
_FROM_TREES = {tree: name for name, tree in _TREES.items()} | {exp.DType.TEXT: "VARCHAR"}


def type_tree(data_type: DataType) -> exp.DataType:
    """`data_type` as sqlglot has it."""
    if data_type.name == "BYTES":
        return exp.DataType(this=exp.DType.USERDEFINED, kind="BYTES", nested=False)
    dtype = _TREES[data_type.name]
    match data_type:
        case ArrayType():
            parts: list[exp.Expr] = [type_tree(data_type.element)]
        case MapType():
            parts = [type_tree(data_type.key), type_tree(data_type.value)]
        case StructType():
            parts = [
                exp.ColumnDef(this=exp.to_identifier(f.name, quoted=True), kind=type_tree(f.type))
                for f in data_type.fields
            ]
        case DecimalType():
            parts = [_parameter(data_type.precision), _parameter(data_type.scale)]
        case Sized():
            parts = [] if data_type.size is None else [_parameter(data_type.size)]
        case _:
            parts = []
    return exp.DataType(this=dtype, expressions=parts or None, nested=data_type.name in _NESTED)


def _parameter(number: int) -> exp.DataTypeParam:
    return exp.DataTypeParam(this=exp.Literal.number(number))


def type_of(tree: exp.DataType) -> DataType:
    """The data type of a tree that `type_tree` made (in CAST, TRY_CAST and RETURNING)."""
    if tree.this == exp.DType.USERDEFINED:
        return BYTES
    name, parts = _FROM_TREES[tree.this], tree.expressions
    if name == "ARRAY":
        return ArrayType(element=type_of(parts[0]))
    if name == "MAP":
        return MapType(key=type_of(parts[0]), value=type_of(parts[1]))
    if name == "STRUCT":
        return StructType(fields=tuple(Field(p.name, type_of(p.args["kind"])) for p in parts))
    numbers = [int(p.this.name) for p in parts]
    if name == "DECIMAL":
        return DecimalType(precision=numbers[0], scale=numbers[1]) if numbers else DecimalType()
    if name in _SIZED:
        return Sized(name, numbers[0]) if numbers else Sized(name)
    return DataType(name)
