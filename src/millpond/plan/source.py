"""A planned FROM: what is read, and what its columns are called."""

from __future__ import annotations

from dataclasses import dataclass

from millpond.plan.nodes import Node
from millpond.plan.scope import Scope


@dataclass(frozen=True, slots=True)
class Source:
    """A node and the scope in which expressions above it are bound."""

    node: Node
    scope: Scope
