"""llmpedia/engines/concurrency/limiter.py and permits.py: what clients may hold never sums to more
than the cap, whatever happens.
"""

import asyncio
import random
import time

import pytest

from llmpedia.engines.concurrency.client import Permits, SharedPermits
from llmpedia.engines.concurrency.limiter import (
    FORGET_S,
    LEASE_S,
    ClientReport,
    Grant,
    Shares,
    start_limiter,
)
from llmpedia.http import pause_of


class Client:
    """A client of the fuzz test: takes and ends requests as its allotment lets it, and reports when
    it is told to.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.allotment = 0
        self.in_use = 0
        self.waiting = 0
        self.succeeded = self.limited = 0
        self.leased_until = 0.0

    def may_use(self, now: float) -> int:
        return self.allotment if now < self.leased_until else 0

    def step(self, rng: random.Random, now: float) -> None:
        done = rng.randint(0, self.in_use)
        self.in_use -= done
        self.limited += (refused := rng.choice([0, 0, done // 2]))
        self.succeeded += done - refused
        self.waiting += rng.choice([0, 0, 5, 50])
        started = max(0, min(self.waiting, self.may_use(now) - self.in_use))
        self.waiting = self.waiting - started
        self.in_use = self.in_use + started

    def report(self, shares: Shares, now: float, heard: bool = True) -> None:
        """``heard``: the answer arrives; else it is lost on the way."""
        report = ClientReport(
            self.name, self.may_use(now), self.in_use, self.waiting, self.succeeded, self.limited
        )
        grant = shares.report(report, now)
        self.succeeded = self.limited = 0
        if heard:
            self.allotment = grant.allotment
            self.leased_until = now + LEASE_S


@pytest.mark.parametrize("seed", range(40))
def test_the_sum_never_exceeds_the_cap(seed):
    """Clients come, go idle, are killed and stop reporting; answers are lost; the limiter is
    restarted.
    """
    rng = random.Random(seed)
    now = 0.0
    cap = rng.choice([1, 2, 7, 64, 256])
    shares = Shares(cap)
    clients = [Client("c0")]
    born = 1
    dead_until = 0.0
    for _ in range(2000):
        now += rng.choice([0.0, 0.01, 0.2])
        client = rng.choice(clients)
        client.step(rng, now)
        if rng.random() < 0.4:
            client.report(shares, now, heard=rng.random() < 0.9)
        if rng.random() < 0.01 and len(clients) < 6:
            clients.append(Client(f"c{born}"))
            born += 1
        if rng.random() < 0.005 and len(clients) > 1:
            clients.remove(rng.choice(clients))  # killed: its requests end with it
        if rng.random() < 0.002 and now > dead_until:
            shares = Shares(cap, now + FORGET_S)
            dead_until = now + FORGET_S
        held = [max(c.may_use(now), c.in_use) for c in clients]
        assert sum(held) <= cap, (seed, now, held)


def settle(
    shares: Shares,
    demand: dict[str, int],
    held: dict[str, int],
    now: float,
    rounds: int = 6,
    ranks: dict | None = None,
) -> dict[str, int]:
    """Allotments after some reports of clients that always use what they have."""
    for _ in range(rounds):
        for name, wanted in demand.items():
            in_use = min(wanted, held.get(name, 0))
            report = ClientReport(
                name, held.get(name, 0), in_use, wanted - in_use, rank=(ranks or {}).get(name, 0)
            )
            held[name] = shares.report(report, now).allotment
    return held


def test_busy_clients_get_what_idle_ones_leave_in_proportion_to_demand():
    shares = Shares(100)
    held = settle(shares, {"a": 500, "b": 500}, {}, 0.0)
    assert held == {"a": 50, "b": 50}
    assert settle(shares, {"a": 0, "b": 500}, held, 1.0) == {"a": 0, "b": 100}
    held = settle(shares, {"a": 300, "b": 100}, held, 2.0)
    assert (sum(held.values()), held["a"]) == (100, 75)


def test_the_lower_rank_comes_first_and_the_higher_gets_what_it_leaves():
    """Two waves in step would drain at the same time; the older one gets all it can use, the
    younger one the rest.
    """
    shares = Shares(40)
    ranks = {"old": 3, "young": 4}
    held = settle(shares, {"old": 99, "young": 99}, {}, 0.0, ranks=ranks)
    assert held == {"old": 39, "young": 1}
    assert settle(shares, {"old": 8, "young": 99}, held, 1.0, ranks=ranks) == {"old": 11, "young": 29}


def test_a_single_permit_goes_round():
    shares = Shares(1)
    served = set()
    held = {}
    for second in range(6):
        held = settle(shares, {"a": 9, "b": 9, "c": 9}, held, float(second), rounds=1)
        assert sum(held.values()) <= 1
        served |= {name for name, n in held.items() if n}
    assert served == {"a", "b", "c"}


def test_what_a_lowered_client_still_uses_is_not_given_away():
    shares = Shares(10)
    assert shares.report(ClientReport("a", 0, 0, 99), 0.0) == Grant(10, 0.0)
    assert shares.report(ClientReport("b", 0, 0, 99), 0.1).allotment == 0
    assert shares.report(ClientReport("a", 10, 10, 89), 1.0).allotment == 5
    assert (
        shares.report(ClientReport("b", 0, 0, 99), 1.1).allotment == 0
    )  # a has not said that it is down to 5
    assert shares.report(ClientReport("a", 5, 8, 80), 2.0).allotment == 5
    assert shares.report(ClientReport("b", 0, 0, 99), 2.1).allotment == 2
    shares.report(ClientReport("a", 5, 5, 80), 3.0)
    assert shares.report(ClientReport("b", 2, 2, 97), 3.1).allotment == 5


def test_a_killed_client_is_forgotten_and_a_finished_one_at_once():
    shares = Shares(10)
    shares.report(ClientReport("wave=1/a", 0, 0, 99), 0.0)
    assert shares.report(ClientReport("b", 0, 0, 99), FORGET_S - 0.1).allotment == 0
    assert shares.report(ClientReport("b", 0, 0, 99), FORGET_S + 0.1).allotment == 10
    shares.report(ClientReport("wave=1/a", 0, 0, 99), 11.0)
    shares.forget("b")
    assert shares.report(ClientReport("wave=1/a", 0, 0, 99), 11.1).allotment == 10


def total_after(shares: Shares, now: float, succeeded: int, limited: int) -> float:
    shares.report(ClientReport("a", 0, 0, 1, succeeded, limited), now)
    return shares.snapshot()["total"]


def test_refusals_lower_the_total_once_a_second_and_successes_raise_it_again():
    shares = Shares(100)
    assert total_after(shares, 0.0, 0, 9) == 50
    assert total_after(shares, 0.5, 0, 9) == 50  # too soon; counted with the next
    assert total_after(shares, 1.1, 0, 9) == 25
    assert total_after(shares, 2.2, 99, 1) == 24  # one in a hundred: by one, not by half
    assert total_after(shares, 3.0, 25, 0) == 25
    assert total_after(shares, 4.0, 100_000, 0) == 100
    assert [total_after(shares, 5.0 + n, 0, 50) for n in range(12)][-1] == 1


def test_a_pause_asked_of_one_client_holds_for_all():
    shares = Shares(10)
    shares.report(ClientReport("a", 0, 0, 1, pause_s=5.0), 100.0)
    assert shares.report(ClientReport("b", 0, 0, 1), 102.0).pause_s == 3.0
    assert shares.report(ClientReport("b", 0, 0, 1), 106.0).pause_s == 0.0


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, 0.0),
        ({"Retry-After": "3"}, 3.0),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1m1.5s"}, 61.5),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "120ms"}, 0.12),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "7", "Retry-After": "2"}, 7.0),
        ({"x-ratelimit-remaining-requests": "5", "x-ratelimit-reset-requests": "6m0s"}, 0.0),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "2d"}, 600.0),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "soon"}, 0.0),
    ],
)
def test_rate_limit_headers_are_read(headers, seconds):
    assert pause_of(headers) == seconds


def test_permits_go_in_order_and_a_cancelled_waiter_takes_none():
    async def use():
        permits = Permits(1)
        done = []

        async def one(n):
            async with permits.slot():
                await asyncio.sleep(0.01)
                done.append(n)

        tasks = [asyncio.create_task(one(n)) for n in range(4)]
        await asyncio.sleep(0.005)
        tasks[1].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return done

    assert asyncio.run(use()) == [0, 2, 3]


def test_no_request_starts_in_a_pause():
    async def use():
        permits = Permits(5)
        started = time.monotonic()
        permits.pause(0.2)
        async with permits.slot():
            return time.monotonic() - started

    assert 0.2 <= asyncio.run(use()) < 0.5


class FakeLimiter:
    """Shares behind the calls of an actor's handle."""

    def __init__(self, cap: int) -> None:
        self.shares = Shares(cap)
        self.calls = 0
        self.down = False
        self.report = self
        self.forget = self

    def remote(self, what):
        async def answer():
            self.calls += 1
            if self.down:
                raise ConnectionError
            return (
                self.shares.report(what, time.monotonic())
                if isinstance(what, ClientReport)
                else self.shares.forget(what)
            )

        return asyncio.ensure_future(answer())


async def load(permits, requests: int, seconds: float, seen: list[int], level: list[int]) -> None:
    async def one():
        async with permits.slot():
            level[0] += 1
            seen.append(level[0])
            await asyncio.sleep(seconds)
            level[0] -= 1
            permits.succeeded()

    await asyncio.gather(*(one() for _ in range(requests)))


def test_two_clients_share_the_cap_fill_it_and_call_the_limiter_seldom():
    async def use():
        limiter = FakeLimiter(20)
        seen = []
        level = [0]
        a = SharedPermits(limiter, "a")
        b = SharedPermits(limiter, "b")
        started = time.monotonic()
        await asyncio.gather(load(a, 600, 0.05, seen, level), load(b, 600, 0.05, seen, level))
        await a.close()
        return seen, time.monotonic() - started, limiter.calls

    seen, seconds, calls = asyncio.run(use())
    assert max(seen) == 20
    assert seconds < 1.5 * 1200 * 0.05 / 20
    assert calls < 40


def test_a_client_with_nothing_to_ask_gives_all_back_at_once_and_not_when_it_is_forgotten():
    """It learnt that it holds nothing and fell silent, so half of the cap lay idle for ten seconds
    after each wave.
    """

    async def use():
        limiter = FakeLimiter(20)
        busy = SharedPermits(limiter, "busy")
        ended = SharedPermits(limiter, "ended")
        await load(ended, 100, 0.05, [], [0])
        await asyncio.sleep(2.5)  # two reports; a client is forgotten after ten seconds
        started = time.monotonic()
        await load(busy, 100, 0.05, [], [0])
        return time.monotonic() - started

    assert asyncio.run(use()) < 4


@pytest.mark.real
def test_the_actor_is_killed_and_restarted_and_nothing_waits_for_ever(head):
    import ray

    ray.init(address=head.address, log_to_driver=False, logging_level="ERROR")
    try:
        limiter = start_limiter(8)

        async def use():
            seen = []
            level = [0]
            permits = SharedPermits(limiter, "a")
            working = asyncio.create_task(load(permits, 300, 0.05, seen, level))
            await asyncio.sleep(0.6)
            ray.kill(limiter, no_restart=False)
            await asyncio.wait_for(working, 60)
            await permits.close()
            return max(seen)

        assert asyncio.run(use()) == 8
        assert ray.get(limiter.snapshot.remote())["cap"] == 8
    finally:
        ray.shutdown()
