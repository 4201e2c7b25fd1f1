"""What the world was asked: counts, repeats, faults, and how many requests were in flight over
time.
"""

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

_ANSWERED = 1 << 32


@dataclass
class Stats:
    """Counters of one server. Memory: about 100 bytes a different body.

    ``bodies``: hash of a body -> times seen, plus 2**32 times answered in full.
    """

    requests: Counter[str] = field(default_factory=Counter)
    repeats: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    bodies: dict[int, int] = field(default_factory=dict)
    seconds_at: dict[int, float] = field(default_factory=dict)
    in_flight: int = 0
    peak: int = 0
    changed: float = 0.0
    cpu_before: float = field(default_factory=time.process_time)

    def arrive(self) -> None:
        """A request has come."""
        self._tick()
        self.in_flight += 1
        self.peak = max(self.peak, self.in_flight)

    def leave(self) -> None:
        """A request has been dealt with."""
        self._tick()
        self.in_flight -= 1

    def _tick(self) -> None:
        now = time.monotonic()
        if self.changed:
            self.seconds_at[self.in_flight] = self.seconds_at.get(self.in_flight, 0.0) + now - self.changed
        self.changed = now

    def count(self, stage: str, body: int) -> int:
        """Count a request; how often its body was seen before."""
        before = self.bodies.get(body, 0)
        self.bodies[body] = before + 1
        self.requests[stage] += 1
        if before >= _ANSWERED:
            self.repeats[stage] += 1
        return before % _ANSWERED

    def answered(self, body: int) -> None:
        """A body got a full answer; whoever sends it again asks what was answered."""
        self.bodies[body] += _ANSWERED

    def snapshot(self) -> dict[str, Any]:
        """All of it as JSON. Times in seconds; means are over the time since the first request."""
        self._tick()
        seconds = sum(self.seconds_at.values())
        busy = sum(s for n, s in self.seconds_at.items() if n)
        weighted = sum(n * s for n, s in self.seconds_at.items())
        return {
            "requests": sum(self.requests.values()),
            "requests_by_stage": dict(sorted(self.requests.items())),
            "repeats_of_answered_bodies": dict(sorted(self.repeats.items())),
            "faults": dict(sorted(self.faults.items())),
            "in_flight": self.in_flight,
            "peak_in_flight": self.peak,
            "mean_in_flight": weighted / seconds if seconds else 0.0,
            "mean_in_flight_while_busy": weighted / busy if busy else 0.0,
            "seconds": seconds,
            "seconds_by_in_flight": {str(n): round(s, 4) for n, s in sorted(self.seconds_at.items())},
            "cpu_seconds": time.process_time() - self.cpu_before,
        }
