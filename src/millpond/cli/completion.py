"""What the shell completes: keywords, and the relations and columns that the server has."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable
from contextlib import closing
from typing import Final

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from millpond.cli.connection import Connection, Result, Row, StatementError
from millpond.errors import MillpondError

_WORDS: Final = """
    ADVANCE ALTER AND APPLICATION AS ASC AVG BEGIN BETWEEN BIGINT BOOLEAN BY BYTES CASE CAST CHANGELOG CHANGES
    COALESCE COLUMNS CONCAT COUNT CREATE CUMULATE DATABASE DATABASES DATE DECIMAL DESC DESCRIBE
    DESCRIPTOR_SOURCE DISTINCT DOUBLE DROP ELSE EMIT END ENTITIES ENTITY EXISTS EXPLAIN FALSE FLOAT FROM GROUP
    HAVING HOP IF IN INDEX INNER INSERT INTEGER INTO IS JOIN KEY LEFT LIKE LIMIT LIST LISTAGG MAP MATERIALIZED
    MAX MIN NOT NULL ON OR ORDER PRIMARY PRINT QUERIES QUERY RELATION RELATIONS RESTART ROWS SCHEMA SCHEMAS
    SCHEMA_REGISTRY SELECT SET SHOW SIZE SMALLINT STDDEV STORE STORES STREAM STRUCT SUM TERMINATE THEN TIME
    TIMESTAMP TIMESTAMP_LTZ TINYINT TRUE TUMBLE UNION UPDATE USE VALUE VALUES VARBINARY VARCHAR VIEW WHEN WHERE
    WINDOW WITH WITHIN
"""

KEYWORDS: Final = tuple(_WORDS.split())

_CHANGES_NAMES: Final = re.compile(r"\s*(create|drop|alter|use|begin)\b", re.IGNORECASE)
_WORD: Final = re.compile(r'[\w$."]+$')
_PLAIN_NAME: Final = re.compile(r"[a-z_][a-z0-9_]*$")

MOST_RELATIONS: Final = 200
"""Relations whose columns are fetched: each costs a request, in the background."""


class Vocabulary:
    """The names that can be completed; `refresh` fetches them anew without making the user wait."""

    def __init__(self, connect: Callable[[], Connection]) -> None:
        self._connect = connect
        self.relations: tuple[str, ...] = ()
        self.columns: tuple[str, ...] = ()
        self._thread: threading.Thread | None = None

    def refresh(self) -> None:
        """Fetch the names in a thread; a failure keeps the old ones: completing is a courtesy."""
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._fetch, daemon=True)
            self._thread.start()

    def refresh_after(self, statement: str) -> None:
        """The same, if `statement` may have changed the names."""
        if _CHANGES_NAMES.match(statement):
            self.refresh()

    def _fetch(self) -> None:
        try:
            connection = self._connect()
            names = [row[0] or "" for row in all_rows(connection, "LIST RELATIONS;")]
            self.relations = tuple(sorted(map(written_name, names)))
            columns: set[str] = set()
            for name in self.relations[:MOST_RELATIONS]:
                described = all_rows(connection, f"DESCRIBE RELATION COLUMNS {name};")
                columns.update(written_name(row[0] or "") for row in described)
            self.columns = tuple(sorted(columns))
        except (MillpondError, StatementError):
            return


def all_rows(connection: Connection, statement: str) -> list[Row]:
    """The rows of a statement that has one finite result."""

    def read(result: Result) -> Iterable[Row]:
        return (change.row for change in result.changes) if not result.live else ()

    with closing(connection.run(statement)) as results:
        return [row for result in results for row in read(result)]


def written_name(name: str) -> str:
    """A name as it is written in SQL: quoted unless it folds to itself."""
    if name.startswith('"') or all(_PLAIN_NAME.match(part) for part in name.split(".")):
        return name
    return '"' + name.replace('"', '""') + '"'


class SqlCompleter(Completer):
    """Completes the word before the cursor: names first, then keywords in the case that was begun."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        found = _WORD.search(document.text_before_cursor)
        if found is None:
            return
        word = found.group()
        folded = word.lower().lstrip('"')
        for kind, names in (("relation", self._vocabulary.relations), ("column", self._vocabulary.columns)):
            for name in names:
                if name.lower().lstrip('"').startswith(folded):
                    yield Completion(name, -len(word), display_meta=kind)
        for keyword in KEYWORDS:
            if keyword.startswith(word.upper()):
                text = keyword if word.isupper() or not word.islower() else keyword.lower()
                yield Completion(text, -len(word), display_meta="keyword")
