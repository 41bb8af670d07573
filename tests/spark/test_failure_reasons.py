"""The one line of a failure of Spark that DESCRIBE QUERY shows."""

from __future__ import annotations

import pytest

from millpond.spark.engine import _reason

HEAD = "[STREAM_FAILED] Query [id = 1a-2b, runId = 3c-4d] terminated with exception: "
LATEST_OFFSET = """[PYTHON_STREAMING_DATA_SOURCE_RUNTIME_ERROR] Failed when Python streaming data source perform \
latestOffset: Traceback (most recent call last):
  File "python_streaming_source_runner.py", line 216, in main
    latest_offset_func(reader, outfile)
  File "kinesis_source.py", line 90, in latestOffset
    return self.follower.latest()
           ^^^^^^^^^^^^^^^^^^^^^^
"""
CHAINED = """Traceback (most recent call last):
  File "a.py", line 1, in first
    ask()
botocore.errorfactory.ResourceNotFoundException: An error occurred

During handling of the above exception, another exception occurred:

"""
NOT_FOUND = "[TOPIC_NOT_FOUND] There is no topic 'users' in the store 'kinesis'."
JAVA = "Job aborted.\n\tat x.Y\nCaused by: a.B: first\n\tat c.D\nCaused by: java.io.IOException: disk\n\tat e.F\n"
CASES = [
    (
        f"{HEAD}{LATEST_OFFSET}millpond.errors.MillpondError: {NOT_FOUND}\nLIST TOPICS shows them.\n"
        " SQLSTATE: 38000 SQLSTATE: XXKST\n=== Streaming Query ===\nIdentifier: q\nCurrent State: ACTIVE",
        NOT_FOUND,
    ),
    (f"{HEAD}{LATEST_OFFSET}millpond.errors.MillpondError: {NOT_FOUND} SQLSTATE: 38000 SQLSTATE: XXKST", NOT_FOUND),
    (f"{HEAD}{CHAINED}{LATEST_OFFSET}millpond.errors.MillpondError: {NOT_FOUND}\n", NOT_FOUND),
    (
        f"x.PythonException: {LATEST_OFFSET}ValueError: a bug\n\n\tat org.apache.spark.X\nCaused by: a.B: c\n",
        "ValueError: a bug",
    ),
    (f"{HEAD}{LATEST_OFFSET}KeyError: 'k'\nCaused by: java.io.EOFException", "KeyError: 'k'"),
    (JAVA, "java.io.IOException: disk"),
    (f"{HEAD}Python worker failed to connect back.\n", f"{HEAD}Python worker failed to connect back."),
    (f"{HEAD}Traceback (most recent call last):", f"{HEAD}Traceback (most recent call last):"),
    ("", "unknown"),
]


@pytest.mark.parametrize(("text", "reason"), CASES)
def test_the_reason_is_what_was_raised_first(text: str, reason: str) -> None:
    assert _reason(text) == reason


def test_a_reason_has_500_characters_at_most() -> None:
    assert len(_reason("Traceback (most recent call last):\n  File\nValueError: " + "x" * 900)) == 500
