"""Wait until something is so, with a deadline: what tests use in place of sleeping."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


def eventually(fn: Callable[[], Any], expected: Any, deadline: float = 30, pause: float = 0.02) -> Any:
    """Call `fn` until its answer equals `expected` and return it, or fail with the last answer.

    `expected` may be a predicate (anything callable): then the answer must make it true. An exception that
    `fn` raises counts as an answer.
    """
    end = time.monotonic() + deadline
    while True:
        answer = _attempt(fn)
        if _matches(answer, expected):
            return answer
        if time.monotonic() > end:
            raise AssertionError(
                f"not so within {deadline} s\n  last answer: {answer!r}\n  expected:    {_shown(expected)}"
            )
        time.sleep(pause)


def _attempt(fn: Callable[[], Any]) -> Any:
    try:
        return fn()
    except Exception as e:  # noqa: BLE001 - a server that is not there yet is an answer like any other
        return e


def _matches(answer: Any, expected: Any) -> bool:
    if callable(expected):
        return not isinstance(answer, Exception) and bool(expected(answer))
    return bool(answer == expected)


def _shown(expected: Any) -> str:
    return f"what makes {expected.__name__} true" if callable(expected) else repr(expected)
