"""The table of errors and the places that raise them agree."""

from __future__ import annotations

import re

import pytest

from millpond.errors import ErrorKind, error_table
from tests.house.raises import literals, parameters, raises
from tests.house.source import modules, modules_of_tests

SQLSTATE = re.compile(r"[0-9A-Z]{5}|42P0[12]\d")
"""Five characters; DeltaStream has some duplicates with six."""
OTHERS_MEANING = {"3D012": "API token", "3D016": "secret", "42P07": "user", "42P08": "descriptor"}
"""Codes to which DeltaStream's clients give a meaning that no error here has."""

KINDS = [pytest.param(kind, id=name) for name, kind in error_table().items()]


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_has_a_well_formed_code_and_text(kind: ErrorKind) -> None:
    assert re.fullmatch(r"[A-Z][A-Z_]*[A-Z]", kind.name)
    assert SQLSTATE.fullmatch(kind.sqlstate)
    assert kind.sqlstate not in OTHERS_MEANING
    assert kind.template.strip() == kind.template and kind.template
    assert kind.template.endswith((".", "}", "?"))
    assert not kind.hint or kind.hint.endswith((".", "}", ";", "?"))


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_is_raised_somewhere(kind: ErrorKind) -> None:
    assert kind.name in literals()


def test_every_raise_names_an_error_of_the_table_with_exactly_its_parameters() -> None:
    """In tests too: a stand-in's error whose text cannot be made is none that the product could meet."""
    table = error_table()
    wrong = []
    for found in raises((*modules(), *modules_of_tests())):
        for name in found.names:
            if name not in table:
                wrong.append(f"{found.where}: there is no error {name}")
                continue
            wanted = parameters(table[name].template) | parameters(table[name].hint)
            if found.params is not None and found.params != wanted:
                wrong.append(f"{found.where}: {name} takes {sorted(wanted)}, given {sorted(found.params)}")
    assert not wrong, "\n".join(wrong)


def test_raises_are_found_at_all() -> None:
    assert {"RELATION_NOT_FOUND", "DEPENDENTS_EXIST"} <= {name for found in raises(modules()) for name in found.names}
