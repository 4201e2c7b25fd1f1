"""The application's own counters, as Prometheus text.

Every ingress replica counts for itself; ``/metrics`` on any of them asks all of them and labels each series with its replica.
So a sum over ``replica`` is the whole, and a replica that goes takes its series with it instead of turning a sum back.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

BUCKETS_S = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
ROUTES = ("/v1/verify", "/v1/grade", "/v1/perplexity", "/v1/chat/completions", "/metrics", "/healthz", "/readyz")
_REQUESTS = "Requests by route and HTTP status; 499: the client went away."
_REFUSED = "Requests refused, by route and status: keys, limits, capacity, deadline."
_RESULTS = "What was decided: a verdict a claim, an outcome a response, scored or not an answer."
_REFUSALS = frozenset({401, 403, 408, 413, 422, 503, 504})
_GONE = 499


def route_of(scope: Scope) -> str:
    """The path below the application's own prefix."""
    path: str = scope["path"]
    root: str = scope.get("root_path", "")
    return path[len(root) :] if root and path.startswith(root) else path


class Counts:
    """Of one replica."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter("llmpedia_requests", _REQUESTS, ("route", "status"), registry=self._registry)
        self._refused = Counter("llmpedia_refused", _REFUSED, ("route", "status"), registry=self._registry)
        self._results = Counter("llmpedia_results", _RESULTS, ("route", "outcome"), registry=self._registry)
        self._in_flight = Gauge("llmpedia_in_flight", "Requests being served.", registry=self._registry)
        self._seconds = Histogram(
            "llmpedia_request_seconds",
            "Time until the answer was sent, by route.",
            ("route",),
            buckets=BUCKETS_S,
            registry=self._registry,
        )

    def answered(self, route: str, status: int, seconds: float) -> None:
        """A request has been answered."""
        known_route = route if route in ROUTES else "other"
        self._requests.labels(known_route, str(status)).inc()
        if status in _REFUSALS:
            self._refused.labels(known_route, str(status)).inc()
        self._seconds.labels(known_route).observe(seconds)

    def results(self, route: str, outcomes: Iterable[str]) -> None:
        """What was decided."""
        for outcome in outcomes:
            self._results.labels(route, outcome).inc()

    def serving(self) -> AbstractContextManager[object]:
        """A context within which one more request is in flight."""
        return self._in_flight.track_inprogress()

    def families(self) -> list[Metric]:
        """The metrics with all their samples, the cumulative ones of a histogram included."""
        return list(self._registry.collect())


class _Replicas(Collector):
    """The metrics of all replicas, each series labelled with its replica."""

    def __init__(self, replicas: Mapping[str, Sequence[Metric]], silent: int) -> None:
        self._replicas = replicas
        self._silent = silent

    def collect(self) -> Iterator[Metric]:
        """One metric of a name, whichever replicas have samples of it."""
        merged: dict[str, Metric] = {}
        for replica, families in sorted(self._replicas.items()):
            for family in families:
                metric = merged.setdefault(family.name, Metric(family.name, family.documentation, family.type))
                for sample in family.samples:
                    if not sample.name.endswith("_created"):
                        metric.add_sample(sample.name, {**sample.labels, "replica": replica}, sample.value)
        yield from merged.values()
        yield GaugeMetricFamily("llmpedia_replicas_silent", "Ingress replicas that did not answer this scrape.", self._silent)


def render(replicas: Mapping[str, Sequence[Metric]], silent: int) -> str:
    """Prometheus' text format. ``silent``: replicas that did not tell their counts."""
    registry = CollectorRegistry()
    registry.register(_Replicas(replicas, silent))
    return generate_latest(registry).decode()


class Counted:
    """ASGI middleware, the outermost: whatever is answered is counted."""

    def __init__(self, app: ASGIApp, counts: Counts) -> None:
        self._app, self._counts = app, counts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.monotonic()
        status = _GONE

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            with self._counts.serving():
                await self._app(scope, receive, noted)
        finally:
            self._counts.answered(route_of(scope), status, time.monotonic() - started)
