"""Binds expressions: a sqlglot tree and the names in scope become a typed `Expr`, with every cast written out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from sqlglot import exp

from millpond.errors import MillpondError
from millpond.plan.building import balanced, condition, make_case, make_cast, make_element, make_map
from millpond.plan.calls import BoundCall, call, call_named
from millpond.plan.coercion import coerce
from millpond.plan.expressions import (
    ColumnRef,
    Expr,
    FieldAccess,
    Literal,
)
from millpond.plan.functions.constants import UNITS
from millpond.plan.functions.table import find_functions
from millpond.plan.intervals import read_interval
from millpond.plan.literals import number_literal, text_literal
from millpond.plan.row_functions import ROW_FUNCTIONS, row_function
from millpond.plan.scope import Scope
from millpond.sql import nodes
from millpond.sql.position import position_of
from millpond.sql.type_trees import type_of
from millpond.types import (
    BOOLEAN,
    BYTES,
    NULL,
    VARCHAR,
    StructType,
)

Extension: TypeAlias = Callable[[exp.Expr], Expr | None]

BINARY: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.NullSafeEQ: "is not distinct from",
    exp.NullSafeNEQ: "is distinct from",
}
"""Operators of two operands, by their name in the function table. + and - know intervals, `||` is variadic."""

CLOCKS: dict[type[exp.Expr], str] = {
    exp.CurrentDate: "current_date",
    exp.CurrentTimestamp: "current_timestamp",
    exp.CurrentTime: "current_time",
}
DATE_PARTS = {"DOW": "dayofweek", "DAYOFWEEK": "dayofweek", "DOY": "dayofyear", "DAYOFYEAR": "dayofyear"}
DATE_PARTS |= {"ISODOW": "isodow", "EPOCH": "epoch", "DAYOFMONTH": "day"} | {u: u.lower() for u in UNITS[:8]}


def bind(tree: exp.Expr, scope: Scope, extend: Extension | None = None) -> Expr:
    """The typed expression that `tree` means in `scope`.

    `extend` is asked first for every part of the tree: what it returns stands for that part (sub-queries,
    select aliases, group expressions). Raises MillpondError with the position of the wrong token; the caller
    adds the statement's text with `error.located`.
    """
    try:
        return _Binder(scope, extend).bind(tree)
    except RecursionError:
        raise MillpondError(
            "UNSUPPORTED", feature="An expression this deeply nested", instead="Compute a part of it in a sub-query."
        ) from None


def bind_condition(tree: exp.Expr, scope: Scope, extend: Extension | None = None) -> Expr:
    """`bind` for WHERE, HAVING and ON: the result is BOOLEAN, else TYPE_MISMATCH."""
    bound = bind(tree, scope, extend)
    if bound.type.name not in ("BOOLEAN", "NULL"):
        raise MillpondError(
            "TYPE_MISMATCH",
            position=position_of(tree),
            what="A condition",
            given=str(bound.type),
            instead="Compare it with something.",
        )
    return coerce(bound, BOOLEAN)


class _Binder:
    def __init__(self, scope: Scope, extend: Extension | None) -> None:
        self.scope = scope
        self.extend = extend

    def bind(self, tree: exp.Expr) -> Expr:
        if self.extend and (found := self.extend(tree)) is not None:
            return found
        try:
            return self._bind(tree)
        except MillpondError as error:
            if error.position is None:
                error.position = position_of(tree)
            raise

    def _bind(self, tree: exp.Expr) -> Expr:
        operator = BINARY.get(type(tree))
        if operator:
            return call(operator, [self.bind(tree.this), self.bind(tree.expression)])
        if type(tree) in CLOCKS:
            return call(CLOCKS[type(tree)], [])
        for kind in type(tree).__mro__:
            method = METHODS.get(kind)
            if method:
                return method(self, tree)
        raise MillpondError("UNSUPPORTED", feature=f"'{tree.sql()}'", instead="See the expressions in the reference.")

    def all(self, trees: Sequence[exp.Expr]) -> list[Expr]:
        return [self.bind(tree) for tree in trees]

    # --- names ---

    def column(self, node: exp.Expr) -> Expr:
        if isinstance(node.this, exp.Star):
            raise MillpondError("UNSUPPORTED", feature="'*' inside an expression", instead="Name a column instead.")
        return self.path(list(node.parts) if isinstance(node, exp.Column) else [node])

    def path(self, parts: Sequence[exp.Expr]) -> Expr:
        """A dotted name: a column with or without its relation, and then members of a STRUCT."""
        names = [self.name(part) for part in parts]
        start = next((k for k in range(len(parts) - 1, 0, -1) if self.scope.has_source(names[:k])), 0)
        if start and not self.scope.find(names[start], names[:start]) and self.scope.find(names[0]):
            start = 0
        if start == 0 and len(parts) > 1 and not self.scope.find(names[0]):
            last = len(parts) - 1
            self.scope.resolve(names[last], names[:last], position_of(parts[0]))
        bound: Expr = self.scope.resolve(names[start], names[:start], position_of(parts[start]))
        for part in parts[start + 1 :]:
            bound = self.member(bound, part)
        return bound

    def name(self, identifier: exp.Expr) -> str:
        return identifier.name if identifier.args.get("quoted") else self.scope.fold(identifier.name)

    def member(self, operand: Expr, field: exp.Expr) -> Expr:
        name = self.name(field)
        if not isinstance(operand.type, StructType):
            what = f"'{operand.name}'" if isinstance(operand, ColumnRef) else f"What '{name}' is taken from"
            raise MillpondError(
                "TYPE_MISMATCH",
                position=position_of(field),
                what=what,
                given=f"read with '{name}', because it is {operand.type}",
                instead="Only a STRUCT has members.",
            )
        found = operand.type.field(name)
        if found is None:
            members = ", ".join(f.name for f in operand.type.fields)
            raise MillpondError(
                "COLUMN_NOT_FOUND",
                position=position_of(field),
                name=name,
                where="the STRUCT",
                suggestion=f"Its members are: {members}.",
            )
        return FieldAccess(found.type, operand, found.name)

    def field_access(self, node: exp.Expr) -> Expr:
        return self.member(self.bind(node.this), node.args["field"])

    def bracket(self, node: exp.Expr) -> Expr:
        """`array[1]`, `map['key']` and `struct['member']`."""
        operand = self.bind(node.this)
        (key,) = node.expressions
        if isinstance(operand.type, StructType) and isinstance(key, exp.Literal):
            return self.member(operand, exp.to_identifier(key.name, quoted=True))
        return make_element(operand, self.bind(key))

    # --- constants ---

    def literal(self, node: exp.Expr) -> Expr:
        return text_literal(node.name) if node.args.get("is_string") else number_literal(node.name)

    def boolean(self, node: exp.Expr) -> Expr:
        return Literal(BOOLEAN, bool(node.this))

    def null(self, node: exp.Expr) -> Expr:
        return Literal(NULL, None)

    def bytes_literal(self, node: exp.Expr) -> Expr:
        return Literal(BYTES, bytes.fromhex(node.name))

    # --- operators ---

    def add(self, node: exp.Expr) -> Expr:
        return (
            self.shift(node.expression, node.this, "+")
            or self.shift(node.this, node.expression, "+")
            or call("+", [self.bind(node.this), self.bind(node.expression)])
        )

    def subtract(self, node: exp.Expr) -> Expr:
        shifted = self.shift(node.expression, node.this, "-")
        return shifted or call("-", [self.bind(node.this), self.bind(node.expression)])

    def shift(self, interval: exp.Expr, moment: exp.Expr, sign: str) -> Expr | None:
        """`moment` moved by INTERVAL `interval`, or None if that is not an interval."""
        while isinstance(interval, exp.Paren):
            interval = interval.this
        if not isinstance(interval, exp.Interval):
            return None
        unit, amount = read_interval(interval, negative=sign == "-")
        return call("timestampadd", [Literal(VARCHAR, unit), amount, self.bind(moment)])

    def interval(self, node: exp.Expr) -> Expr:
        raise MillpondError(
            "UNSUPPORTED",
            feature="An INTERVAL on its own",
            instead="Add it to a time or subtract it; for the distance of two times use TIMESTAMPDIFF(unit, a, b).",
        )

    def negate(self, node: exp.Expr) -> Expr:
        if isinstance(node.this, exp.Literal) and not node.this.is_string:
            return number_literal("-" + node.this.name)
        return call("negate", [self.bind(node.this)])

    def negation(self, node: exp.Expr) -> Expr:
        if isinstance(node.this, exp.Is) and isinstance(node.this.expression, exp.Null):
            return call("is not null", [self.bind(node.this.this)])
        return call("not", [self.bind(node.this)])

    def chain(self, node: exp.Expr) -> Expr:
        """a AND b AND ... as a balanced tree: SQLite and Python both refuse very deep ones."""
        parts = list(node.flatten(unnest=False))
        return balanced("and" if isinstance(node, exp.And) else "or", self.all(parts))

    def paren(self, node: exp.Expr) -> Expr:
        return self.bind(node.this)

    def concat(self, node: exp.Expr) -> Expr:
        """a || b || c as one call."""
        parts: list[exp.Expr] = [node]
        while isinstance(parts[0], exp.DPipe):
            parts[:1] = [parts[0].this, parts[0].expression]
        return call("||", self.all(parts))

    def is_null(self, node: exp.Expr) -> Expr:
        """IS NULL, IS TRUE, IS FALSE, IS DISTINCT FROM; `IS NOT x` comes as NOT (IS x)."""
        right = node.expression
        if isinstance(right, exp.Null):
            return call("is null", [self.bind(node.this)])
        return call("is not distinct from", [self.bind(node.this), self.bind(right)])

    def between(self, node: exp.Expr) -> Expr:
        return call("between", self.all([node.this, node.args["low"], node.args["high"]]))

    def in_list(self, node: exp.Expr) -> Expr:
        if node.args.get("query") is not None or not node.expressions:
            raise MillpondError("UNSUPPORTED", feature="IN with a sub-query here", instead="List the values instead.")
        return call("in", self.all([node.this, *node.expressions]))

    def like(self, node: exp.Expr) -> Expr:
        return call("like", self.all([node.this, node.expression]))

    def escaped_like(self, node: exp.Expr) -> Expr:
        """`x LIKE p ESCAPE e`, which the parser nests as ESCAPE(LIKE(x, p), e)."""
        return call("like", self.all([node.this.this, node.this.expression, node.expression]))

    # --- CASE and CAST ---

    def case(self, node: exp.Expr) -> Expr:
        operand = self.bind(node.this) if node.this is not None else None
        whens: list[Expr] = []
        thens: list[Expr] = []
        for branch in node.args["ifs"]:
            when = self.bind(branch.this)
            whens.append(call("=", [operand, when]) if operand is not None else condition(when))
            thens.append(self.bind(branch.args["true"]))
        default = node.args.get("default")
        otherwise = self.bind(default) if default is not None else None
        return make_case(whens, thens, otherwise)

    def cast(self, node: exp.Expr) -> Expr:
        return make_cast(self.bind(node.this), type_of(node.args["to"]))

    # --- functions ---

    def anonymous(self, node: exp.Expr) -> Expr:
        return self.named(str(node.this), node.expressions)

    def func(self, node: exp.Expr) -> Expr:
        """A call that the grammar has a node of its own for: its arguments in the order of the node's slots."""
        assert isinstance(node, exp.Func)
        flat: list[exp.Expr] = []
        for slot in node.arg_types:
            value = node.args.get(slot)
            flat.extend(v for v in (value if isinstance(value, list) else [value]) if isinstance(v, exp.Expr))
        return self.named(node.sql_name(), flat)

    def named(self, name: str, trees: Sequence[exp.Expr]) -> Expr:
        low = name.lower()
        if low in ROW_FUNCTIONS:
            return row_function(
                low, [self.name(t.this) if isinstance(t, exp.Column) else "" for t in trees], self.scope
            )
        if low == "map":
            return make_map(self.all(trees))
        if low in ("date_add", "date_sub", "dateadd", "adddate", "subdate") and len(trees) == 2:
            sign = "-" if "sub" in low else "+"
            if (shifted := self.shift(trees[1], trees[0], sign)) is not None:
                return shifted
        distinct = bool(trees) and isinstance(trees[0], exp.Distinct)
        if distinct:
            trees = [*trees[0].expressions, *trees[1:]]
        if len(trees) == 1 and isinstance(trees[0], exp.Star):
            trees = []
        returning = trees[-1] if trees and isinstance(trees[-1], exp.DataType) else None
        units = _unit_places(low, len(trees))
        args = tuple(self.argument(t, k in units) for k, t in enumerate(trees) if t is not returning)
        return call_named(BoundCall(low, args, distinct, type_of(returning) if returning else None))

    def argument(self, tree: exp.Expr, unit: bool) -> Expr:
        """An argument; a bare word where the function takes a unit of time is that unit."""
        if unit and isinstance(tree, exp.Column | exp.Identifier | exp.Var):
            return text_literal(tree.name)
        return self.bind(tree)

    def extract(self, node: exp.Expr) -> Expr:
        part = node.this.name.upper()
        function = DATE_PARTS.get(part) or DATE_PARTS.get(part.removesuffix("S"))
        if function is None:
            raise MillpondError(
                "INVALID_CONSTANT",
                kind="part of a time",
                text=part,
                reason=f"parts are {', '.join(DATE_PARTS)}",
            )
        return call_named(BoundCall(function, (self.bind(node.expression),)))

    def trim(self, node: exp.Expr) -> Expr:
        side = str(node.args.get("position") or "BOTH").upper()
        name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(side, "trim")
        characters = node.args.get("expression")
        return call_named(
            BoundCall(name, tuple(self.all([node.this, *([characters] if characters is not None else [])])))
        )


def _unit_places(function: str, count: int) -> set[int]:
    """Which of `count` arguments are units of time, where the function takes one at all."""
    lists = [f.signature.parameters for f in find_functions(function)]
    fitting = [words for words in lists if len(words) == count]
    return {k for words in fitting for k, word in enumerate(words) if word.word == "UNIT"}


METHODS: dict[type[exp.Expr], Callable[[_Binder, exp.Expr], Expr]] = {
    exp.Column: _Binder.column,
    exp.Identifier: _Binder.column,
    nodes.FieldAccess: _Binder.field_access,
    exp.Bracket: _Binder.bracket,
    exp.Literal: _Binder.literal,
    exp.Boolean: _Binder.boolean,
    exp.Null: _Binder.null,
    exp.HexString: _Binder.bytes_literal,
    exp.Add: _Binder.add,
    exp.Sub: _Binder.subtract,
    exp.Interval: _Binder.interval,
    exp.Neg: _Binder.negate,
    exp.Not: _Binder.negation,
    exp.And: _Binder.chain,
    exp.Or: _Binder.chain,
    exp.Paren: _Binder.paren,
    exp.DPipe: _Binder.concat,
    exp.Is: _Binder.is_null,
    exp.Between: _Binder.between,
    exp.In: _Binder.in_list,
    exp.Like: _Binder.like,
    exp.Escape: _Binder.escaped_like,
    exp.Case: _Binder.case,
    exp.Cast: _Binder.cast,
    exp.Anonymous: _Binder.anonymous,
    exp.Extract: _Binder.extract,
    exp.Trim: _Binder.trim,
    exp.Func: _Binder.func,
}
"""How each kind of node is bound; a node that is not here is looked up by its bases."""
