"""What the writer follows: stores, each with one reader, and the views whose changelogs lie in them."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import NamedTuple

from millpond.catalog.model import Relation
from millpond.stores.protocol import Log, Reader
from millpond.views.progress import Fault
from millpond.views.schema import ViewIndex

TURN_SECONDS = 0.005
"""How long one of several idle stores is waited on before the next: so late may another's record be seen."""


@dataclass(frozen=True, slots=True)
class StoreAddress:
    """Where a view's changelog lies: what `open_log` takes."""

    type: str
    properties: tuple[tuple[str, str], ...] = field(repr=False)


class Found(NamedTuple):
    """A topic as its store describes it."""

    id: str
    firsts: dict[int, int]
    ends: dict[int, int]


@dataclass(slots=True, eq=False)
class Source:
    """One store: its log and the one reader of all its changelogs, by topic.

    `questions` asks the store, which may take long, beside the folding. `served`: when it last had records.
    """

    address: StoreAddress
    log: Log
    reader: Reader
    questions: ThreadPoolExecutor
    topics: dict[str, Followed] = field(default_factory=dict)
    served: float = 0.0

    def close(self) -> None:
        """Let go of the store now; a question that is being asked ends by itself."""
        self.questions.shutdown(wait=False, cancel_futures=True)
        self._disconnect()

    def retire(self) -> None:
        """Let go of the store beside the folding, behind the questions that are being asked."""
        self.questions.submit(self._disconnect)
        self.questions.shutdown(wait=False)

    def _disconnect(self) -> None:
        self.reader.close()
        self.log.close()


@dataclass(slots=True, eq=False)
class Followed:
    """One view. `following`: its topic was found; `targets`: end offsets to be reached, while loading."""

    relation: Relation
    source: Source
    indexes: dict[str, ViewIndex]
    following: bool = False
    search: Future[Found] | None = None
    targets: Mapping[int, int] | None = None
    read: int = 0
    freshness: int | None = None
    folded_at: int | None = None
    fault: Fault | None = None
    ends: dict[int, int] = field(default_factory=dict)


def look_up(log: Log, topic: str) -> Found:
    """Raises what `Log.describe` raises."""
    return Found(log.describe(topic).id, log.first_offsets(topic), log.end_offsets(topic))


def turns(sources: Sequence[Source], timeout: float) -> Iterator[tuple[Source, float]]:
    """Which source to poll next and for how many seconds, until `timeout` is over or the caller has records.

    All are asked without waiting, the one that was served longest ago first: a busy one starves no other. Then one
    after the other is waited on for a moment: an idle one delays no other.
    """
    if len(sources) == 1:
        yield sources[0], timeout
        return
    deadline = time.monotonic() + timeout
    order = sorted(sources, key=lambda s: s.served)
    for source in order:
        yield source, 0.0
    for source in itertools.cycle(order):
        left = deadline - time.monotonic()
        if left <= 0:
            return
        yield source, min(TURN_SECONDS, left)
