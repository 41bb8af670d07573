"""The clickstream demo: a stream, three views, a generator, and a check that the views are right.

`region_story` adds users in Kinesis.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from confluent_kafka import Consumer, TopicPartition
from rich.console import Console
from rich.table import Table

from millpond.embedded.click_generator import ClickGenerator
from millpond.embedded.region_story import VIEW_COLUMNS, VIEW_NAME, RegionStory
from millpond.embedded.server_client import ServerClient, StatementRefused
from millpond.errors import error_table
from millpond.stores.protocol import Log

TOPIC = "clicks"

Counts = Counter[tuple[str, str, str]]
"""Visits by (userid, url, device_id)."""


@dataclass(frozen=True, slots=True)
class View:
    """A view of the demo: its grouping columns, and which parts of a (userid, url, device_id) they are."""

    name: str
    columns: tuple[str, ...]
    parts: tuple[int, ...]

    @property
    def create(self) -> str:
        columns = ", ".join(self.columns)
        return (
            f"CREATE MATERIALIZED VIEW IF NOT EXISTS {self.name} AS SELECT {columns}, COUNT(*) AS visits "
            f"FROM clicks WITH ('starting.position'='earliest') GROUP BY {columns};"
        )

    def expected(self, counts: Counts) -> Counter[tuple[str, ...]]:
        """What the view must hold after exactly the clicks that `counts` counts."""
        total: Counter[tuple[str, ...]] = Counter()
        for click, visits in counts.items():
            total[tuple(click[p] for p in self.parts)] += visits
        return total


VIEWS = (
    View("url_visits", ("url",), (1,)),
    View("url_device_visits", ("url", "device_id"), (1, 2)),
    View("user_url_device_visits", ("userid", "url", "device_id"), (0, 1, 2)),
)

REGION_VIEW = View(VIEW_NAME, VIEW_COLUMNS, ())
"""Of the second story; it has statements of its own."""

Expected = Mapping[View, Counter[tuple[str, ...]]]


class Before(NamedTuple):
    """What earlier runs have left: visits, and those by (url, region)."""

    visits: Counts
    regions: Counter[tuple[str, ...]]


STATEMENTS = (
    "CREATE STREAM IF NOT EXISTS clicks (event_time BIGINT, device_id VARCHAR, url VARCHAR, ip VARCHAR, "
    f"userid VARCHAR) WITH ('topic'='{TOPIC}', 'value.format'='json', 'timestamp'='event_time', "
    "'topic.partitions'=1, 'topic.replicas'=1);",
    *(view.create for view in VIEWS),
    "CREATE INDEX IF NOT EXISTS visits_by_user ON user_url_device_visits (userid);",
)


def run_demo(
    base_url: str,
    kafka_uris: str,
    *,
    users: Callable[[], Log] | None = None,
    rate: float = 100,
    seconds: float | None = None,
    console: Console | None = None,
    stop: threading.Event | None = None,
    settle_seconds: float = 60,
) -> int:
    """Run the demo on the server at `base_url`, sending clicks to `kafka_uris`; the exit code.

    `users` opens the store of the second story, which begins once the first one runs; without it there is none.
    With `seconds` it ends by itself, prints the views and returns 0 if they hold exactly the clicks that were
    sent, else 1 after `settle_seconds`. Without, it runs until `stop` is set and returns 0.
    """
    console = console or Console()
    stop = stop or threading.Event()
    with ServerClient(base_url) as server:
        create(server, console)
        console.print(f"[bold]Open [link={base_url}/demo]{base_url}/demo[/link][/bold]  ({rate:g} clicks a second)")
        story = RegionStory(base_url, users, console)
        story.start()
        before = Before(Counter(), Counter())
        if seconds is not None and (clicks := clicks_in(kafka_uris)):
            before = settled(server, clicks, settle_seconds, story)
        generator = ClickGenerator(kafka_uris, TOPIC, rate, region=story.region)
        generator.start()
        try:
            stop.wait(seconds)
        finally:
            generator.stop()
            story.stop()
        if seconds is None:
            return 0
        wanted = expected(before, generator, story.wait(settle_seconds) and story.right)
        return report(server, console, wanted, before.visits.total(), settle_seconds)


def create(server: ServerClient, console: Console) -> None:
    """Create the stream, the views and the index, as far as they are not there yet."""
    for statement in STATEMENTS:
        with console.status(statement.split(" AS ")[0].split(" (")[0]):
            server.rows(statement)
        console.print("[green]✓[/green]", statement.split(" AS ")[0].split(" (")[0], highlight=False)


def settled(server: ServerClient, clicks: int, seconds: float, story: RegionStory) -> Before:
    """What earlier runs have left in the same data folder: the views once they hold all `clicks`."""
    view = VIEWS[2]
    wait_until(lambda: held(server, view).total() >= clicks, seconds, pause=0.2)
    visits = Counter({(key[0], key[1], key[2]): n for key, n in held(server, view).items()})
    if not story.wait(seconds):
        return Before(visits, Counter())
    wait_until(lambda: held(server, REGION_VIEW).total() >= clicks, seconds, pause=0.2)
    return Before(visits, held(server, REGION_VIEW))


def expected(before: Before, generator: ClickGenerator, regions: bool) -> Expected:
    """The recount of each view that is to be right."""
    counts = before.visits + generator.counts()
    wanted = {view: view.expected(counts) for view in VIEWS}
    if regions:
        clicks = generator.by_region().items()
        sent: Counter[tuple[str, ...]] = Counter({(url, where): n for (url, where), n in clicks if where is not None})
        wanted[REGION_VIEW] = before.regions + sent
    return wanted


def clicks_in(uris: str) -> int:
    """How many clicks the topic has been given so far."""
    consumer = Consumer({"bootstrap.servers": uris, "group.id": "demo", "log_level": 0})
    try:
        return int(consumer.get_watermark_offsets(TopicPartition(TOPIC, 0), timeout=10)[1])
    finally:
        consumer.close()


def held(server: ServerClient, view: View) -> Counter[tuple[str, ...]]:
    """What a view holds now: visits by its grouping columns; nothing while it is being built."""
    try:
        rows = server.rows(f"SELECT {', '.join(view.columns)}, visits FROM {view.name};")
    except StatementRefused as e:
        if e.answered != error_table()["VIEW_NOT_READY"].sqlstate:
            raise
        return Counter()
    return Counter({tuple(str(v) for v in row[:-1]): int(row[-1] or 0) for row in rows})


def report(server: ServerClient, console: Console, wanted: Expected, earlier: int, seconds: float) -> int:
    """Print the views and whether they are as `wanted`; 0 if they are."""
    right = wait_until(lambda: not differing(server, wanted), seconds, pause=0.1)
    for view in wanted:
        console.print(table(view, held(server, view)))
    total = f"{wanted[VIEWS[0]].total():,} clicks" + (f" ({earlier:,} of them earlier)" if earlier else "")
    if right:
        console.print(f"[green]✓[/green] {total} sent, and each view holds exactly these.")
        return 0
    names = ", ".join(f"'{v.name}'" for v in differing(server, wanted))
    console.print(f"[red]✗[/red] {total} sent, but {names} differ from a recount.")
    return 1


def differing(server: ServerClient, wanted: Expected) -> list[View]:
    """The views that do not hold exactly what they must."""
    return [view for view, rows in wanted.items() if held(server, view) != rows]


def table(view: View, rows: Counter[tuple[str, ...]], limit: int = 8) -> Table:
    """The most visited rows of a view."""
    shown = Table(title=f"{view.name}  ({len(rows):,} rows)", title_justify="left", title_style="bold")
    for column in view.columns:
        shown.add_column(column)
    shown.add_column("visits", justify="right")
    for key, visits in ordered(rows)[:limit]:
        shown.add_row(*key, f"{visits:,}")
    if len(rows) > limit:
        shown.add_row(*["…"] * (len(view.columns) + 1))
    return shown


def ordered(rows: Counter[tuple[str, ...]]) -> list[tuple[tuple[str, ...], int]]:
    """Most visits first, then by name, so that a table looks the same twice."""
    items: Iterable[tuple[tuple[str, ...], int]] = rows.items()
    return sorted(items, key=lambda item: (-item[1], item[0]))


def wait_until(true: Callable[[], bool], seconds: float, pause: float) -> bool:
    """Ask `true` until it says so or `seconds` have passed; its last answer."""
    deadline = time.monotonic() + seconds
    while not (answer := true()) and time.monotonic() < deadline:
        time.sleep(pause)
    return answer
