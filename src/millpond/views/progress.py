"""How far a view is: what the writer's process tells the server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Fault:
    """What is in the way, by its name in the error table; it is tried again all the time."""

    name: str
    sentence: str


@dataclass(frozen=True, slots=True)
class ViewProgress:
    """One view, as of `reported_at` (epoch ms, as every `_at`)."""

    relation: str
    loading: bool
    """Its rows are not shown yet: they are being read from the changelog."""
    offsets: Mapping[int, int] = field(default_factory=dict)
    """Next offset per partition: committed, or staged while loading."""
    ends: Mapping[int, int] = field(default_factory=dict)
    """End offsets of the changelog as last heard."""
    rows: int = 0
    bytes: int = 0
    """Rows and bytes in the store, measured every few seconds."""
    freshness_ms: int | None = None
    """Age of the latest source event at the moment it could be seen in the view; None before the first."""
    folded_at: int | None = None
    offsets_read: int = 0
    """Records read since the writer's process started or the view was added."""
    undecodable: int = 0
    problem: str = ""
    fault: Fault | None = None
    reported_at: int = 0

    @property
    def lag(self) -> int:
        """Offsets between what is folded and the end of the changelog."""
        return sum(max(0, end - self.offsets.get(p, 0)) for p, end in self.ends.items())

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ViewProgress:
        fault = Fault(**data["fault"]) if data["fault"] else None
        numbered = {k: {int(p): o for p, o in data[k].items()} for k in ("offsets", "ends")}
        return cls(**{**data, **numbered, "fault": fault})
