"""GET /metrics in Prometheus' text format: the engine's samples, and the requests counted here."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector
from starlette.types import Receive, Scope, Send

from millpond.api.asgi import respond
from millpond.serve.answers import Metric

Samples = Callable[[], Iterable[Metric]]

_SECONDS: Final = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0)
"""Bucket bounds: fine around the 5 ms that a pull query may take."""


class RequestMetrics:
    """Counts HTTP requests by route and status, and times them by route."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._requests = Counter(
            "millpond_http_requests", "HTTP requests answered.", ("route", "status"), registry=registry
        )
        self._seconds = Histogram(
            "millpond_http_request_seconds",
            "Time from a request's arrival to the end of its answer; push queries are not in it.",
            ("route",),
            buckets=_SECONDS,
            registry=registry,
        )
        self._counters: dict[tuple[str, int], Counter] = {}
        self._timers: dict[str, Histogram] = {}

    def record(self, route: str, status: int, seconds: float) -> None:
        """One answered request. `route` must be one of few: it becomes a label."""
        counter = self._counters.get((route, status))
        if counter is None:
            counter = self._counters[route, status] = self._requests.labels(route, str(status))
        counter.inc()
        timer = self._timers.get(route)
        if timer is None:
            timer = self._timers[route] = self._seconds.labels(route)
        timer.observe(seconds)


class SampleCollector(Collector):
    """The engine's samples as Prometheus families, read anew for each scrape."""

    def __init__(self, samples: Samples) -> None:
        self._samples = samples

    def collect(self) -> Iterable[Family]:
        families: dict[str, CounterMetricFamily | GaugeMetricFamily] = {}
        for metric in self._samples():
            family = families.get(metric.name)
            if family is None:
                kind = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
                family = families[metric.name] = kind(metric.name, metric.help, labels=sorted(metric.labels))
            family.add_metric([metric.labels[name] for name in sorted(metric.labels)], metric.value)
        return families.values()

    def describe(self) -> Iterable[Family]:
        """Nothing ahead of time: the samples depend on what runs."""
        return ()


class MetricsPage:
    """GET /metrics as a raw ASGI endpoint.

    The samples ask the stores, which may take long: in a thread, so that nobody else waits, one scrape at a time.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry
        self._one = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._one:
            page = await asyncio.to_thread(generate_latest, self._registry)
        await respond(send, 200, page, CONTENT_TYPE_LATEST.encode())
