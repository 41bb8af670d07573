"""Size guides: what is too long to be read at once is split by kind of thing."""

from __future__ import annotations

from statistics import median

from tests.house.source import functions, modules

LONGEST_FUNCTION = 60
LONGEST_FILE = 600
MEDIAN_FUNCTION = 10


def test_no_function_is_too_long() -> None:
    wrong = [
        f"{module.shown}: {name} has {lines} lines"
        for module in modules()
        for name, lines in functions(module)
        if lines > LONGEST_FUNCTION
    ]
    assert not wrong, "\n".join(wrong)


def test_no_file_is_too_long() -> None:
    lengths = {m.shown: len(m.path.read_text("utf-8").splitlines()) for m in modules()}
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST_FILE} == {}


def test_the_median_function_is_short() -> None:
    assert median(lines for module in modules() for _, lines in functions(module)) < MEDIAN_FUNCTION
