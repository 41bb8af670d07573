"""What a statement has done so far: how it is taken back if it fails, what is left to do if it succeeds."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Effects:
    """What is to be done once it is known how the statement ends."""

    undo: list[Callable[[], object]] = field(default_factory=list)
    """If it fails, last first."""
    finish: list[Callable[[], object]] = field(default_factory=list)
    """If it succeeds: what cannot be taken back."""

    def roll_back(self) -> None:
        _all_of(reversed(self.undo))

    def complete(self) -> None:
        _all_of(self.finish)


def _all_of(actions: Any) -> None:
    for action in actions:
        try:
            action()
        except Exception:  # the first error is the one to report; the rest must be done
            logger.exception("at the end of a statement")
