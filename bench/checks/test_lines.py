"""Tables and comparisons of several engines, of which one may not have been measured."""

from __future__ import annotations

from harness.catchup_lines import CatchUps, catchup_table, comparisons
from harness.catchup_run import CatchUp
from harness.latency_lines import Latencies, latency_aims, latency_ratios, latency_table
from harness.latency_run import Latency
from harness.lines import MILLPOND, plain_lines
from harness.percentiles import Percentiles

AWAY = "not measured: no jar"
OURS = CatchUp(rows=1000, first_output=0.5, first_rows=500, seconds=1.0, engine_cpu=2.0, broker_cpu=0.3)
CATCH_UPS: CatchUps = {MILLPOND: OURS, "Flink SQL": CatchUp(1000, 1.0, 1000, 2.0, 3.0, 0.5, wrong=7), "Streams": AWAY}
CHANGELOG = Latency(Percentiles(9, 4.0, 5.0, 60.0, 70.0), 1, [70.0])
LATENCIES: Latencies = {
    f"{MILLPOND}, pull": CHANGELOG,
    "Streams": Latency(Percentiles(9, 2.0, 3.0, 30.0, 40.0), 0, [40.0]),
    "Flink SQL": AWAY,
}


def cells(table: str) -> list[list[str]]:
    return [line.rsplit(maxsplit=7) for line in table.splitlines()[3:]]


def test_a_catch_up_that_was_not_measured_says_why() -> None:
    assert cells(catchup_table("T", CATCH_UPS)) == [
        ["Millpond", "1.00", "1.00", "1.00", "0.50", "2.00", "0.30", "0"],
        ["Flink SQL", "0.50", "-", "2.00", "1.00", "3.00", "0.50", "7"],
        [f"Streams: {AWAY}", *"-------"],
    ]


def test_ours_is_compared_with_the_peers_that_were_measured() -> None:
    assert comparisons(CATCH_UPS, lambda peer: 3) == [
        "rows/s with start-up, Millpond / Flink SQL: 1,000 / 500 = 2.00",
        "engine CPU s, Millpond / Flink SQL: 2.00 / 3.00 = 0.67",
        "rows/s against Flink SQL: 2.00 times, aim at least 3 times: missed",
    ]
    assert len(comparisons(CATCH_UPS, lambda peer: None)) == 2
    assert comparisons({**CATCH_UPS, MILLPOND: AWAY}, lambda peer: 3) == []


def test_latencies_are_compared_with_the_peers_and_with_the_aims() -> None:
    assert "not measured: no jar" in latency_table("T", "seen", LATENCIES)
    assert latency_ratios(CHANGELOG, LATENCIES, " seen") == [
        "p50 seen, Millpond / Streams: 4.00 / 2.00 = 2.00",
        "p99 seen, Millpond / Streams: 60.0 / 30.0 = 2.00",
    ]
    assert latency_aims(CHANGELOG) == [
        "p50: 4.00 ms, aim at most 10 ms: met",
        "p99: 60.0 ms, aim at most 50 ms: missed",
    ]


def test_results_have_the_reason_too() -> None:
    assert plain_lines(CATCH_UPS)["Streams"] == AWAY
    assert plain_lines(CATCH_UPS)[MILLPOND]["seconds"] == 1.0
