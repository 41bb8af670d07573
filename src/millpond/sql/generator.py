"""Trees -> canonical text: upper-case keywords, one blank, double quotes."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from sqlglot import exp
from sqlglot.generator import Generator

from millpond.sql.nodes import FieldAccess, SourceProperties, WindowSource, Within
from millpond.sql.statements import Properties, PropertyValue
from millpond.sql.type_trees import type_of

_UNITS = (("DAY", 86_400_000), ("HOUR", 3_600_000), ("MINUTE", 60_000), ("SECOND", 1_000), ("MILLISECOND", 1))
_STEPS = {"HOP": "ADVANCE BY", "CUMULATE": "STEP"}


def quoted(text: str, quote: str = "'") -> str:
    """`text` between quotes, those inside doubled."""
    return quote + text.replace(quote, quote * 2) + quote


def property_list(properties: Properties) -> str:
    """`('key' = value, ...)`."""
    return f"({', '.join(quoted(p.key) + property_value(p.value) for p in properties)})"


def property_value(value: PropertyValue) -> str:
    """` = value`, or nothing for a property that was given without one."""
    if value is None:
        return ""
    if isinstance(value, str):
        return f" = {quoted(value)}"
    return f" = {str(value).upper()}"


def duration(milliseconds: int) -> str:
    """The shortest `n UNIT`."""
    if milliseconds == 0:
        return "0 SECONDS"
    unit, factor = next((u, f) for u, f in _UNITS if milliseconds % f == 0)
    amount = milliseconds // factor
    return f"{amount} {unit}{'' if amount == 1 else 'S'}"


class MillpondGenerator(Generator):
    """Prints what `millpond.sql` parses, so that it parses to an equal tree."""

    TRANSFORMS: ClassVar[dict[type[exp.Expr], Callable[..., str]]] = {
        **Generator.TRANSFORMS,
        WindowSource: lambda self, node: self.windowsource_sql(node),
        SourceProperties: lambda self, node: self.sourceproperties_sql(node),
        Within: lambda self, node: self.within_sql(node),
        FieldAccess: lambda self, node: self.fieldaccess_sql(node),
    }

    def windowsource_sql(self, node: WindowSource) -> str:
        kind = node.args["kind"]
        parts = [self.sql(node, "this"), f"SIZE {duration(node.args['size'])}"]
        if node.args.get("step"):
            parts.append(f"{_STEPS[kind]} {duration(node.args['step'])}")
        return f"{kind}({', '.join(parts)}){self._suffix(node)}"

    def table_sql(self, expression: exp.Table, sep: str = " AS ") -> str:
        return ".".join(self.sql(part) for part in expression.parts) + self._suffix(expression)

    def subquery_sql(self, expression: exp.Subquery, sep: str = " AS ") -> str:
        return f"({self.sql(expression, 'this')}){self._suffix(expression)}"

    def _suffix(self, node: exp.Expr) -> str:
        alias = node.args.get("alias")
        return (f" AS {self.sql(alias)}" if alias else "") + self.sql(node, "source_properties")

    def anonymous_sql(self, expression: exp.Anonymous) -> str:
        """A call; a type among its arguments is what it returns."""
        types = [e for e in expression.expressions if isinstance(e, exp.DataType)]
        arguments = ", ".join(self.sql(e) for e in expression.expressions if not isinstance(e, exp.DataType))
        returning = "".join(f" RETURNING {self.sql(e)}" for e in types)
        return f"{expression.name.upper()}({arguments}{returning})"

    def sourceproperties_sql(self, node: SourceProperties) -> str:
        return f" WITH {property_list(node.args['properties'])}"

    def join_sql(self, expression: exp.Join, join_op: str | None = None) -> str:
        within = expression.args.get("within")
        if within is None:
            return super().join_sql(expression)
        plain = expression.copy()
        plain.set("within", None)
        words, join, rest = super().join_sql(plain).partition("JOIN ")
        right = self.sql(expression, "this")
        return f"{words}{join}{right}{self.sql(within)}{rest.removeprefix(right)}"

    def within_sql(self, node: Within) -> str:
        before, after, grace = node.args["before"], node.args["after"], node.args.get("grace")
        span = duration(before) if before == after else f"({duration(before)}, {duration(after)})"
        return f" WITHIN {span}" + (f" GRACE PERIOD {duration(grace)}" if grace is not None else "")

    def fieldaccess_sql(self, node: FieldAccess) -> str:
        return f"{self.sql(node, 'this')}->{self.sql(node, 'field')}"

    def unnest_sql(self, expression: exp.Unnest) -> str:
        ordinality = " WITH ORDINALITY" if expression.args.get("offset") else ""
        array, alias = self.expressions(expression, flat=True), self.sql(expression, "alias")
        return f"UNNEST({array}){ordinality} AS {alias}"

    def datatype_sql(self, expression: exp.DataType) -> str:
        return str(type_of(expression))

    def identifier_sql(self, expression: exp.Identifier) -> str:
        return quoted(expression.name, '"') if expression.args.get("quoted") else expression.name

    def literal_sql(self, expression: exp.Literal) -> str:
        return quoted(expression.name) if expression.is_string else expression.name

    def hexstring_sql(self, expression: exp.HexString, binary_function_repr: str | None = None) -> str:
        return f"X'{expression.name}'"

    def ordered_sql(self, expression: exp.Ordered) -> str:
        nulls = expression.args.get("nulls_first")
        suffix = "" if nulls is None else " NULLS FIRST" if nulls else " NULLS LAST"
        return self.sql(expression, "this") + (" DESC" if expression.args.get("desc") else "") + suffix

    def trim_sql(self, expression: exp.Trim) -> str:
        side, characters = expression.args.get("position"), self.sql(expression, "expression")
        text = self.sql(expression, "this")
        before = " ".join(part for part in (side, characters) if part)
        return f"TRIM({before} FROM {text})" if before else f"TRIM({text})"

    def bracket_sql(self, expression: exp.Bracket) -> str:
        return f"{self.sql(expression, 'this')}[{self.expressions(expression, flat=True)}]"

    def array_sql(self, expression: exp.Array) -> str:
        return f"ARRAY[{self.expressions(expression, flat=True)}]"

    def dpipe_sql(self, expression: exp.DPipe) -> str:
        return self.binary(expression, "||")

    def div_sql(self, expression: exp.Div) -> str:
        return self.binary(expression, "/")

    def trycast_sql(self, expression: exp.TryCast) -> str:
        return f"TRY_CAST({self.sql(expression, 'this')} AS {self.sql(expression, 'to')})"

    def extract_sql(self, expression: exp.Extract) -> str:
        return f"EXTRACT({self.sql(expression, 'this')} FROM {self.sql(expression, 'expression')})"

    def currentdate_sql(self, expression: exp.CurrentDate) -> str:
        return "CURRENT_DATE"

    def currenttime_sql(self, expression: exp.CurrentTime) -> str:
        return "CURRENT_TIME"

    def currenttimestamp_sql(self, expression: exp.CurrentTimestamp) -> str:
        return "CURRENT_TIMESTAMP"

    def localtime_sql(self, expression: exp.Localtime) -> str:
        return "LOCALTIME"

    def localtimestamp_sql(self, expression: exp.Localtimestamp) -> str:
        return "LOCALTIMESTAMP"

    def not_sql(self, expression: exp.Not) -> str:
        """`x NOT IN (...)` and its like rather than `NOT x IN (...)`."""
        inner = expression.this
        if isinstance(inner, exp.Is):
            return self.is_sql(inner, "IS NOT")
        if isinstance(inner, exp.In):
            return self.in_sql(inner, "NOT IN")
        if isinstance(inner, exp.Between):
            return self.between_sql(inner, "NOT BETWEEN")
        if isinstance(inner, exp.Like):
            return self.like_sql(inner, "NOT LIKE")
        if isinstance(inner, exp.Escape):
            return self.escape_sql(inner, "NOT LIKE")
        return f"NOT {self.sql(inner)}"

    def is_sql(self, expression: exp.Is, word: str = "IS") -> str:
        return f"{self.sql(expression, 'this')} {word} {self.sql(expression, 'expression')}"

    def like_sql(self, expression: exp.Like, word: str = "LIKE") -> str:
        return f"{self.sql(expression, 'this')} {word} {self.sql(expression, 'expression')}"

    def escape_sql(self, expression: exp.Escape, word: str = "LIKE") -> str:
        return f"{self.like_sql(expression.this, word)} ESCAPE {self.sql(expression, 'expression')}"

    def in_sql(self, expression: exp.In, word: str = "IN") -> str:
        query = expression.args.get("query")
        values = self.sql(query) if query else f"({self.expressions(expression, flat=True)})"
        return f"{self.sql(expression, 'this')} {word} {values}"

    def between_sql(self, expression: exp.Between, word: str = "BETWEEN") -> str:
        low, high = self.sql(expression, "low"), self.sql(expression, "high")
        return f"{self.sql(expression, 'this')} {word} {low} AND {high}"
