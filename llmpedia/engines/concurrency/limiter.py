"""One cap on the requests in flight, over all stages and all processes: how it is shared out,
lowered and grown.

:class:`Shares` is the arithmetic, without Ray and without a clock of its own; :class:`Limiter` is
the Ray actor around it. A client (``client.SharedPermits``) reports about once a second and holds
what it is told until its next report. What clients may hold never sums to more than the cap: a
lowered allotment counts in full until its client has said that it is at or below it.
"""

import math
import time
from dataclasses import dataclass
from typing import Any

from llmpedia.http import MAX_PAUSE_S

# A client that has not reported for this long is dead.
FORGET_S = 10.0
# A client whose reports go unanswered stops using its allotment before the limiter gives it to
# others.
LEASE_S = 8.0
# The total is lowered at most this often: refusals of one burst are one signal.
_CUT_EVERY_S = 1.0
# Room to grow into until the next report: a client may get twice what it asks for now, and this
# many more.
_HEADROOM = 8
# The same for clients that others of a higher rank wait behind: what they do not use lies idle.
_GROWTH = 1.25


@dataclass(frozen=True)
class ClientReport:
    """What a client says of itself. ``holds``: the allotment it lives by; counts are since its last
    report.

    ``pause_s``: seconds that the endpoint has asked everybody to wait, 0 for none. ``rank``:
    clients of a lower one come first.
    """

    client: str
    holds: int
    in_use: int
    waiting: int
    succeeded: int = 0
    limited: int = 0
    pause_s: float = 0.0
    rank: int = 0


@dataclass(frozen=True)
class Grant:
    """The limiter's answer: requests in flight at most, and seconds in which no new one may start."""

    allotment: int
    pause_s: float


@dataclass
class _Known:
    """``bound``: what the client may have in flight at this moment, as far as the limiter can know."""

    rank: int
    seen: float
    demand: int
    bound: int
    served: float


class Shares:
    """Who may have how many requests in flight. Times are seconds of the caller's clock, which
    never runs backwards.
    """

    def __init__(self, cap: int, learn_until: float | None = None) -> None:
        """``learn_until``: until then clients get no more than they say they hold, since others
        have yet to report.
        """
        self._cap = cap
        self._learn_until = learn_until
        self._total = float(cap)
        self._clients: dict[str, _Known] = {}
        self._last_cut = -math.inf
        self._succeeded = self._limited = 0
        self._paused_until = -math.inf

    def report(self, report: ClientReport, now: float) -> Grant:
        """Take a client's report and answer with its allotment."""
        self._forget_dead(now)
        self._adapt(report, now)
        if report.pause_s > 0:
            self._paused_until = max(self._paused_until, now + min(report.pause_s, MAX_PAUSE_S))
        demand = report.in_use + report.waiting
        bound = max(report.holds, report.in_use)
        client = self._clients.setdefault(report.client, _Known(report.rank, now, 0, 0, -math.inf))
        client.seen = now
        client.demand = demand
        client.bound = bound
        allotment = self._allot(client)
        if self._learn_until is not None and now < self._learn_until:
            allotment = min(allotment, bound)
        client.bound = max(bound, allotment)
        if allotment:
            client.served = now
        return Grant(allotment, max(0.0, self._paused_until - now))

    def forget(self, prefix: str) -> None:
        """Clients whose name begins so are gone, and what they held is free."""
        self._clients = {name: c for name, c in self._clients.items() if not name.startswith(prefix)}

    def snapshot(self) -> dict[str, float | int]:
        """Plain figures for logs and tests."""
        held = sum(c.bound for c in self._clients.values())
        return {"cap": self._cap, "total": int(self._total), "held": held, "clients": len(self._clients)}

    def _forget_dead(self, now: float) -> None:
        self._clients = {name: c for name, c in self._clients.items() if now - c.seen < FORGET_S}

    def _adapt(self, report: ClientReport, now: float) -> None:
        """Lower the total by half the share of refusals (all refused: halve it); grow it by one for
        each round of successes.
        """
        self._succeeded += report.succeeded
        self._limited += report.limited
        if not self._limited:
            # a round is as many as the total is at the time, so that the square grows by two for
            # each
            self._total = min(float(self._cap), math.sqrt(self._total**2 + 2 * self._succeeded))
            self._succeeded = 0
        elif now - self._last_cut >= _CUT_EVERY_S:
            refused = self._limited / (self._limited + self._succeeded)
            self._total = max(1.0, min(self._total - 1, self._total * (1 - refused / 2)))
            self._last_cut = now
            self._succeeded = 0
            self._limited = 0

    def _allot(self, client: _Known) -> int:
        free = int(self._total) - sum(c.bound for c in self._clients.values())
        wanted = min(self._targets()[id(client)], 2 * client.demand + _HEADROOM)
        return wanted if wanted <= client.bound else min(wanted, client.bound + max(0, free))

    def _targets(self) -> dict[int, int]:
        """One each for the busy ones (whoever was served longest ago first), the rest rank by rank;
        idle ones none.

        The last rank may have all that is left; those before it what they ask for and a little to
        grow into.
        """
        targets = {id(c): 0 for c in self._clients.values()}
        busy = sorted((c for c in self._clients.values() if c.demand), key=lambda c: c.served)
        rest = int(self._total)
        for client in busy[:rest]:
            targets[id(client)] = 1
        rest -= min(rest, len(busy))
        ranks = sorted({c.rank for c in busy})
        for rank in ranks:
            equals = [c for c in busy if c.rank == rank]
            wanted = math.ceil(_GROWTH * sum(c.demand for c in equals))
            given = rest if rank == ranks[-1] else min(rest, wanted)
            rest -= given
            for client, part in zip(equals, _in_proportion(given, [c.demand for c in equals]), strict=True):
                targets[id(client)] += part
        return targets


def _in_proportion(whole: int, weights: list[int]) -> list[int]:
    """``whole`` cut into integers in proportion to weights (largest remainder), with its sum kept."""
    exact = [whole * w / sum(weights) for w in weights]
    parts = [int(e) for e in exact]
    for i in sorted(range(len(parts)), key=lambda i: parts[i] - exact[i])[: whole - sum(parts)]:
        parts[i] += 1
    return parts


class Limiter:
    """The Ray actor. Restarted after a crash, it first learns from the reports what its clients
    still hold.
    """

    def __init__(self, cap: int) -> None:
        import ray

        again = ray.get_runtime_context().was_current_actor_reconstructed
        self._shares = Shares(cap, time.monotonic() + FORGET_S if again else None)

    async def report(self, report: ClientReport) -> Grant:
        """See :meth:`Shares.report`."""
        return self._shares.report(report, time.monotonic())

    async def forget(self, prefix: str) -> None:
        """See :meth:`Shares.forget`."""
        self._shares.forget(prefix)

    async def snapshot(self) -> dict[str, float | int]:
        """See :meth:`Shares.snapshot`."""
        return self._shares.snapshot()


def start_limiter(cap: int) -> Any:
    """Handle of a new limiter actor; it ends with the driver."""
    import ray

    return ray.remote(num_cpus=0.05, max_restarts=-1)(Limiter).remote(cap)
