"""The texts of errors: templates and what they are filled with."""

from __future__ import annotations

import pytest

from millpond.errors import MillpondError, filled


@pytest.mark.parametrize(
    ("template", "value", "text"),
    [
        ("It fails: {x}.", "no such file", "It fails: no such file."),
        ("It fails: {x}.", "No such file.", "It fails: No such file."),
        ("It fails: {x}.", "No brokers!", "It fails: No brokers!"),
        ("It fails: {x}.", "is it there?", "It fails: is it there?"),
        ("It fails: {x}.", "and so on ...", "It fails: and so on ..."),
        ("It fails: {x}. Look.", "No such file.", "It fails: No such file. Look."),
        ("It fails: {x}", "No such file.", "It fails: No such file."),
        ("'{x}' is wrong.", "a.", "'a.' is wrong."),
        ("Write {x}.name.", "a.", "Write a..name."),
        ("{x}.", "", "."),
        ("Say {{{x}}}.", "a.", "Say {a.}."),
        ("There are {x}.", 3, "There are 3."),
    ],
)
def test_a_sentence_ends_with_one_stop(template: str, value: object, text: str) -> None:
    assert filled(template, {"x": value}) == text


def test_sentences_and_hints_are_filled_so() -> None:
    error = MillpondError("BAD_PROPERTY", name="p", value="v", takes="Numbers.")
    assert error.hint == "It takes Numbers."
    assert MillpondError("TOPIC_REFUSED", topic="t", reason="Not now.").sentence.endswith("'t': Not now.")
