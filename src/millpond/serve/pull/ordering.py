"""ORDER BY, LIMIT and OFFSET of a query over views."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from millpond.errors import MillpondError
from millpond.plan.binder import Extension, bind
from millpond.plan.expressions import Expr, Literal
from millpond.plan.scope import Scope
from millpond.serve.pull.refused import refused
from millpond.sql.position import position_of

if TYPE_CHECKING:
    from millpond.serve.pull.compiler import Compiler


LARGEST = 2**63 - 1
"""SQLite counts in 64 bits."""


class Ordering:
    """Writes the clauses at the end of a query; `outputs` are its result columns in order, by name."""

    def __init__(
        self,
        compiler: Compiler,
        tree: exp.Query,
        scope: Scope,
        outputs: Sequence[tuple[str, Expr]],
        extend: Extension | None = None,
        check: Callable[[Expr, exp.Expr], object] = lambda expr, tree: None,
    ) -> None:
        self.compiler, self.tree, self.scope, self.outputs = compiler, tree, scope, outputs
        self.extend, self.check = extend, check

    def sql(self) -> str:
        """` ORDER BY ... LIMIT ... OFFSET ...`, or nothing."""
        order = self.tree.args.get("order")
        keys = [self._key(item) for item in order.expressions] if order else []
        limit, offset = (self._whole(word) for word in ("limit", "offset"))
        text = f" ORDER BY {', '.join(keys)}" if keys else ""
        if limit is not None or offset is not None:
            text += f" LIMIT {-1 if limit is None else limit}"
        return text + (f" OFFSET {offset}" if offset is not None else "")

    def _whole(self, clause: str) -> int | None:
        tree = self.tree.args.get(clause)
        return None if tree is None else whole(tree.expression, clause.upper())

    def _key(self, item: exp.Expr) -> str:
        """NULLs first where ascending, as Spark sorts, unless the query says otherwise."""
        descending = bool(item.args.get("desc"))
        first = item.args.get("nulls_first")
        nulls = "FIRST" if (first if first is not None else not descending) else "LAST"
        expr = self._target(item.this if isinstance(item, exp.Ordered) else item)
        return f"{sort_key(self.compiler, expr)} {'DESC' if descending else 'ASC'} NULLS {nulls}"

    def _target(self, tree: exp.Expr) -> Expr:
        """A number is a result column's place; a name is a result column's first, then one of FROM."""
        if isinstance(tree, exp.Literal) and not tree.is_string:
            return output_at(tree, self.outputs, "ORDER BY")
        expr = bind(tree, self.scope, self._output)
        self.check(expr, tree)
        return expr

    def _output(self, tree: exp.Expr) -> Expr | None:
        if isinstance(tree, exp.Column) and len(tree.parts) == 1:
            name = tree.name if tree.this.args.get("quoted") else tree.name.lower()
            found = [e for n, e in self.outputs if n == name] or [
                e for n, e in self.outputs if n.lower() == name.lower()
            ]
            if found:
                return found[0]
        return self.extend(tree) if self.extend else None


def sort_key(compiler: Compiler, expr: Expr) -> str:
    """`expr` as it stands in ORDER BY or GROUP BY. A constant is written as NULL: SQLite takes a number for a place."""
    if isinstance(expr, Literal):
        return "NULL"
    return compiler.render(expr) + (" COLLATE DECIMAL" if expr.type.name == "DECIMAL" else "")


def output_at(tree: exp.Expr, outputs: Sequence[tuple[str, Expr]], clause: str) -> Expr:
    """The result column at the place that the number `tree` says. Raises COLUMN_NOT_FOUND."""
    index = whole(tree, clause) - 1
    if not 0 <= index < len(outputs):
        raise MillpondError(
            "COLUMN_NOT_FOUND",
            position=position_of(tree),
            name=tree.name,
            where="the SELECT list",
            suggestion=f"It has {len(outputs)} columns.",
        )
    return outputs[index][1]


def whole(tree: exp.Expr, clause: str) -> int:
    """The whole number that `tree` is. Raises UNSUPPORTED."""
    if not isinstance(tree, exp.Literal) or tree.is_string or not tree.name.isdigit():
        raise refused(f"{clause} that is not a whole number", "Write the number.", tree)
    if (number := int(tree.name)) > LARGEST:
        raise refused(f"{clause} that is too large", f"Write a number up to {LARGEST}.", tree)
    return number
