"""Where statements end."""

from __future__ import annotations

import pytest

from millpond.cli.splitting import split

APPLICATION = "BEGIN APPLICATION a\n  CREATE STREAM x; CREATE STREAM y;\nEND APPLICATION;"


@pytest.mark.parametrize(
    ("text", "statements", "rest", "open_in"),
    [
        ("", (), "", None),
        (" ; ;; ", (), "", None),
        ("-- only a comment", (), "", None),
        ("SELECT 1;", ("SELECT 1;",), "", None),
        ("SELECT 1", (), "SELECT 1", None),
        ("a; b ;\n c", ("a;", "b ;"), "c", None),
        ("-- why;\na; -- after", ("-- why;\na;",), "", None),
        ("/* ; */ a;", ("/* ; */ a;",), "", None),
        ("SELECT 'a;''b';", ("SELECT 'a;''b';",), "", None),
        ('SELECT "a;b", `c;d`;', ('SELECT "a;b", `c;d`;',), "", None),
        ("SELECT 'it", (), "SELECT 'it", "a string"),
        ('a; SELECT "x;', ("a;",), 'SELECT "x;', "a quoted name"),
        ("SELECT /* ;", (), "SELECT /* ;", "a comment"),
        (APPLICATION + " b;", (APPLICATION, "b;"), "", None),
        ("BEGIN APPLICATION a x;", (), "BEGIN APPLICATION a x;", "an application"),
    ],
)
def test_a_text_is_cut_at(text: str, statements: tuple[str, ...], rest: str, open_in: str | None) -> None:
    found = split(text)
    assert (found.statements, found.rest, found.open_in) == (statements, rest, open_in)
