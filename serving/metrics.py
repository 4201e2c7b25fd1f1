"""The application's own counters, as Prometheus text.

Every ingress replica counts for itself; ``/metrics`` on any of them asks all of them and labels
each series with its replica. So a sum over ``replica`` is the whole, and a replica that goes takes
its series with it instead of turning a sum back.
"""

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

BUCKETS_S = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
ROUTES = (
    "/v1/verify",
    "/v1/grade",
    "/v1/perplexity",
    "/v1/chat/completions",
    "/metrics",
    "/healthz",
    "/readyz",
)
_HELP = {
    "llmpedia_requests_total": ("counter", "Requests by route and HTTP status; 499: the client went away."),
    "llmpedia_refused_total": (
        "counter",
        "Requests refused, by route and status: keys, limits, capacity, deadline.",
    ),
    "llmpedia_results_total": (
        "counter",
        "What was decided: a verdict a claim, an outcome a response, scored or not an answer.",
    ),
    "llmpedia_in_flight": ("gauge", "Requests being served."),
    "llmpedia_request_seconds": ("histogram", "Time until the answer was sent, by route."),
}
_REFUSED = frozenset({401, 403, 408, 413, 422, 503, 504})
_GONE = 499

Sample = tuple[str, dict[str, str], float]


def route_of(scope: Scope) -> str:
    """The path below the application's own prefix."""
    path: str = scope["path"]
    root: str = scope.get("root_path", "")
    return path[len(root) :] if root and path.startswith(root) else path


class Counts:
    """Of one replica."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, int]] = Counter()
        self._results: Counter[tuple[str, str]] = Counter()
        self._times: dict[str, list[int]] = {}
        self._seconds: dict[str, float] = {}
        self.in_flight = 0

    def answered(self, route: str, status: int, seconds: float) -> None:
        """A request has been answered."""
        route = route if route in ROUTES else "other"
        self._requests[route, status] += 1
        self._times.setdefault(route, [0] * (len(BUCKETS_S) + 1))[bisect_left(BUCKETS_S, seconds)] += 1
        self._seconds[route] = self._seconds.get(route, 0.0) + seconds

    def results(self, route: str, outcomes: Iterable[str]) -> None:
        """What was decided."""
        self._results.update((route, outcome) for outcome in outcomes)

    def samples(self) -> list[Sample]:
        """(metric, labels, value), the cumulative ones of a histogram included."""
        found: list[Sample] = [("llmpedia_in_flight", {}, self.in_flight)]
        for (route, status), n in sorted(self._requests.items()):
            labels = {"route": route, "status": str(status)}
            found.append(("llmpedia_requests_total", labels, n))
            if status in _REFUSED:
                found.append(("llmpedia_refused_total", labels, n))
        found += [
            ("llmpedia_results_total", {"route": r, "outcome": o}, n)
            for (r, o), n in sorted(self._results.items())
        ]
        for route, times in sorted(self._times.items()):
            below = 0
            for bound, n in zip([*map(str, BUCKETS_S), "+Inf"], times, strict=True):
                below += n
                found.append(("llmpedia_request_seconds_bucket", {"route": route, "le": bound}, below))
            found.append(("llmpedia_request_seconds_sum", {"route": route}, self._seconds[route]))
            found.append(("llmpedia_request_seconds_count", {"route": route}, below))
        return found


def render(replicas: dict[str, list[Sample]], silent: int) -> str:
    """Prometheus' text format. ``silent``: replicas that did not tell their counts."""
    lines = []
    for metric, (kind, text) in _HELP.items():
        lines += [f"# HELP {metric} {text}", f"# TYPE {metric} {kind}"]
        names = {metric, *(metric + end for end in ("_bucket", "_sum", "_count") if kind == "histogram")}
        for replica, samples in sorted(replicas.items()):
            for name, labels, value in samples:
                if name in names:
                    told = ",".join(f'{k}="{v}"' for k, v in {**labels, "replica": replica}.items())
                    lines.append(f"{name}{{{told}}} {value}")
    lines += [
        "# HELP llmpedia_replicas_silent Ingress replicas that did not answer this scrape.",
        "# TYPE llmpedia_replicas_silent gauge",
        f"llmpedia_replicas_silent {silent}",
    ]
    return "\n".join(lines) + "\n"


class Counted:
    """ASGI middleware, the outermost: whatever is answered is counted."""

    def __init__(self, app: ASGIApp, counts: Counts) -> None:
        self._app = app
        self._counts = counts

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

        self._counts.in_flight += 1
        try:
            await self._app(scope, receive, noted)
        finally:
            self._counts.in_flight -= 1
            self._counts.answered(route_of(scope), status, time.monotonic() - started)
