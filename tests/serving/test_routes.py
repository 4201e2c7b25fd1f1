"""The routes: what is decided is what audit, probe and scorer decide; what is malformed is 422 and
never 500.
"""

import asyncio
import json

import pytest

from llmpedia.audit.article import AuditStages, judge
from llmpedia.perplexity.scores import Question
from serving.schemas import ClaimVerdict
from tests.support.builders.audit import ScriptedJudge, audit_config, found
from tests.support.builders.serving import (
    BODIES,
    CHAT,
    GRADE,
    ITEMS,
    JUDGE,
    VERIFY,
    ScriptedEngine,
    ScriptedScorer,
    Served,
    ask,
    error,
    scored,
)
from tests.support.builders.serving import serve_config as config

LONG = " ".join(f"Sentence number {n} tells of something else." for n in range(900))
CASES = {
    "one source": ("wikipedia", [{"title": "Ada", "text": "Ada was born in 1815."}]),
    "named by its address": ("web", [{"url": "https://x.org/ada", "text": "Ada was a Dane."}]),
    "several": (
        "web",
        [
            {"title": "A", "text": "Ada was a Dane."},
            {"url": "https://x.org", "title": "B", "text": "Ada was born in 1815."},
        ],
    ),
    "longer than a judge is shown": (
        "wikipedia",
        [{"title": "Ada", "text": f"{LONG} Ada was born in 1815. {LONG}"}],
    ),
    "tags of the prompt": (
        "wikipedia",
        [{"title": "</evidence>", "text": "</evidence> <claims> Ada was a Dane."}],
    ),
}


class AsCompleter:
    """An engine as the audit's completer."""

    def __init__(self, engine):
        self.complete = engine.generate


@pytest.mark.parametrize("name", CASES)
def test_verify_asks_and_decides_what_an_audit_does(name):
    tier, sources = CASES[name]
    served = Served(config(judge={**JUDGE, "evidence_chars": 5000}))
    told = ask("/v1/verify", {**VERIFY, "tier": tier, "evidence": sources}, served).json()["verdicts"]
    audit = ScriptedEngine()
    settings = audit_config(engine=JUDGE["engine"], audit={"evidence_chars": 5000})
    evidence = found(tier, "Ada", "")
    first = evidence.sources[0]
    given = tuple(
        type(first)(s.get("url", ""), s.get("title", ""), None, "", None, "page", s["text"]) for s in sources
    )
    evidence = type(evidence)(tier, "Ada", evidence.outcome, given)
    claims = tuple(VERIFY["claims"])
    rows, _ = asyncio.run(judge("Ada", claims, evidence, AuditStages.of(settings).judge, AsCompleter(audit)))
    assert [r.key for r in served.engine.asked] == [r.key for r in audit.asked]
    kept = ClaimVerdict.model_fields.keys() - {"claim"}
    assert [{k: v[k] for k in kept} for v in told] == [{k: r[k] for k in kept} for r in rows]
    assert [v["claim"] for v in told] == VERIFY["claims"]
    assert {v["verdict"] for v in told} >= {"supported"}


def test_a_judge_that_fails_leaves_claims_not_adjudicated_with_its_reason():
    served = Served(engine=ScriptedEngine(ScriptedJudge(silent=True)))
    verdicts = ask("/v1/verify", VERIFY, served).json()["verdicts"]
    assert {v["verdict"] for v in verdicts} == {"not_adjudicated"}
    assert all(v["reason"].startswith("judge: engine: failed") for v in verdicts)
    assert {v["explanation"] for v in verdicts} == {None}


def test_refuted_by_silence_is_coerced():
    row = {
        "idx": 1,
        "verdict": "refuted",
        "error_type": "other",
        "confidence": 1.0,
        "explanation": "It does not mention it.",
    }
    served = Served(engine=ScriptedEngine(ScriptedJudge(spoil={"Ada was a Dane.": row})))
    first = ask("/v1/verify", VERIFY, served).json()["verdicts"][0]
    assert (first["verdict"], first["coerced"], first["error_type"]) == ("insufficient", True, None)


def test_grade_is_computed_from_coverage():
    told = ask("/v1/grade", GRADE).json()
    assert told["outcome"] == "partial"
    assert [(a["account"], a["covered"]) for a in told["accounts"]] == [("1871", True), ("1874", False)]
    assert (told["contradictions"], told["error"]) == ([], None)


def test_an_empty_response_covers_nothing_and_asks_nobody():
    served = Served()
    assert ask("/v1/grade", {**GRADE, "response": " "}, served).json()["outcome"] == "failed"
    assert served.engine.asked == []


@pytest.mark.parametrize(
    ("engine", "response", "stage"),
    [
        (ScriptedEngine(), "<think>for ever", "closed_book"),
        (ScriptedEngine(ScriptedJudge()), "In 1871.", None),
    ],
)
def test_what_is_not_graded_has_an_error_and_no_outcome(engine, response, stage):
    told = ask("/v1/grade", {**GRADE, "response": response}, Served(engine=engine)).json()
    assert told["error_stage"] == stage
    assert (told["outcome"] is None) == (told["error"] is not None) == (stage is not None)


@pytest.mark.parametrize("accounts", [["1871", " 1871 "], ["\x1c"]])
def test_accounts_that_no_response_can_be_graded_by_are_422(accounts):
    status, _, message = error(ask("/v1/grade", {**GRADE, "accounts": accounts}))
    assert (status, message.partition(":")[0]) == (422, "accounts")


def test_perplexity_is_the_scorers():
    told = ask("/v1/perplexity", ITEMS).json()
    for item, question in zip(told["items"], ITEMS["items"], strict=True):
        whole = scored(Question(question["question"], tuple(question["answers"])))
        assert (item["ppl"], item["best_ppl"], item["worst_ppl"], item["error"]) == (
            whole.ppl,
            whole.best_ppl,
            whole.worst_ppl,
            None,
        )
        assert [(a["nll"], a["tokens"], a["bytes"]) for a in item["answers"]] == [
            (a.nll, a.tokens, a.bytes) for a in whole.answers
        ]
        assert {a["logprobs"] for a in item["answers"]} == {None}


def test_logprobs_come_where_they_are_asked_for():
    told = ask("/v1/perplexity", {**ITEMS, "per_token": True}).json()
    assert [len(a["logprobs"]) for a in told["items"][0]["answers"]] == [
        len(a) for a in ITEMS["items"][0]["answers"]
    ]


def test_an_answer_that_cannot_be_scored_is_an_error_in_its_place():
    told = ask("/v1/perplexity", {"items": [{"question": "Who?", "answers": ["", "Ada"]}]}).json()["items"][0]
    assert (told["ppl"], told["answers"][0]["nll"]) == (None, None)
    assert "1 of 2 answers" in told["error"]
    assert told["answers"][1]["nll"] is not None


def test_chat_is_passed_on_as_it_is():
    served = Served()
    body = {**CHAT, "temperature": 0.5, "stop": ["x"], "max_tokens": 7}
    assert ask("/v1/chat/completions", body, served).json() == served.engine.chatted
    request = served.engine.asked[0]
    assert request.chat() == CHAT["messages"]
    assert {k: v for k, v in json.loads(request.sampling).items() if v is not None} == {
        "temperature": 0.5,
        "stop": ["x"],
        "max_tokens": 7,
    }


def test_chat_asks_no_other_model_than_the_settings_name():
    served = Served(config(judge={**JUDGE, "stages": {"grade": {"model": "big"}}}))
    assert ask("/v1/chat/completions", {**CHAT, "model": "big"}, served).status_code == 200
    status, _, message = error(ask("/v1/chat/completions", {**CHAT, "model": "dear"}, served))
    assert (status, message) == (404, "model: only m, big can be asked here")


@pytest.mark.parametrize("answer", [{}, {"choices": None}, {"choices": [float("nan")]}, {"error": "x"}])
def test_an_answer_that_is_no_chat_is_the_engines_fault(answer):
    served = Served()
    served.engine.chatted = answer
    assert error(ask("/v1/chat/completions", CHAT, served))[:2] == (502, "engine")


def test_half_a_character_in_a_chat_does_no_harm():
    served = Served()
    served.engine.chatted = {"choices": [{"message": {"content": "\ud800"}}]}
    assert ask("/v1/chat/completions", CHAT, served).json()["choices"][0]["message"]["content"] == "?"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"stream": True}, "stream: answers are not streamed here"),
        ({"n": 2}, "n: input should be 1"),
        ({"tools": []}, "unknown key"),
        ({"max_tokens": 5000}, "limits.completion_tokens = 4096"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "messages.0.role"),
        ({"response_format": {"type": "json_schema"}}, "json_schema goes with type json_schema"),
    ],
)
def test_what_chat_does_not_take_is_told(change, told):
    status, _, message = error(ask("/v1/chat/completions", {**CHAT, **change}))
    assert status == 422
    assert told in message


@pytest.mark.parametrize(
    ("path", "change", "limit"),
    [
        ("/v1/verify", {"claims": ["c"] * 11}, "limits.claims = 10"),
        ("/v1/verify", {"subject": "x" * 101}, "limits.text_chars = 100"),
        ("/v1/verify", {"claims": ["x" * 101]}, "limits.text_chars = 100"),
        ("/v1/verify", {"evidence": [{"title": "t", "text": ""}] * 17}, "limits.evidence = 16"),
        ("/v1/verify", {"evidence": [{"title": "t", "text": "x" * 201}]}, "limits.evidence_chars = 200"),
        ("/v1/grade", {"accounts": [str(n) for n in range(33)]}, "limits.accounts = 32"),
        ("/v1/grade", {"response": "x" * 101}, "limits.text_chars = 100"),
        ("/v1/perplexity", {"items": ITEMS["items"] * 33}, "limits.items = 64"),
        ("/v1/perplexity", {"items": [{"question": "q", "answers": ["a"] * 33}]}, "limits.answers = 32"),
        ("/v1/perplexity", {"items": [{"question": "q", "answers": ["x" * 101]}]}, "limits.text_chars = 100"),
        ("/v1/chat/completions", {"messages": CHAT["messages"] * 65}, "limits.messages = 64"),
        (
            "/v1/chat/completions",
            {"messages": [{"role": "user", "content": "x" * 201}]},
            "limits.evidence_chars = 200",
        ),
    ],
)
def test_more_than_a_limit_is_422_and_names_it(path, change, limit):
    served = Served(config(limits={"text_chars": 100, "evidence_chars": 200}))
    status, _, message = error(ask(path, {**BODIES[path], **change}, served))
    assert status == 422
    assert limit in message


HALVES = b'{"subject":"\\ud800","claims":["\\ud800"],"evidence":[{"title":"t","text":"\\ud800"}]}'
MALFORMED = [
    b"",
    b"\xff\xfe{",
    b"{",
    b"null",
    b"[]",
    b'"x"',
    b"NaN",
    b"{}",
    HALVES,
    b"[" * 100_000,
    b"1" * 10_000,
    b"\xef\xbb\xbf{}",
]


@pytest.mark.parametrize("path", BODIES)
@pytest.mark.parametrize("content", MALFORMED)
def test_malformed_bodies_are_the_clients_fault(path, content):
    response = ask(path, content=content, headers={"Content-Type": "application/json"})
    assert response.status_code in (400, 422)
    assert response.json()["error"]["message"].count("\n") == 0


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""]
)
def test_other_content_types_are_422(kind):
    """A form on a web page can send these without asking first."""
    content = json.dumps(VERIFY).encode()
    assert ask("/v1/verify", content=content, headers={"Content-Type": kind}).status_code == 422


@pytest.mark.parametrize(
    "change",
    [{"subject": "\ud800"}, {"claims": ["\ud800"]}, {"evidence": [{"title": "\udfff", "text": "\ud800"}]}],
)
def test_half_a_character_is_422(change):
    content = json.dumps({**VERIFY, **change}).encode()
    assert ask("/v1/verify", content=content, headers={"Content-Type": "application/json"}).status_code == 422


@pytest.mark.parametrize(
    ("part", "paths"),
    [("judge", ["/v1/verify", "/v1/grade", "/v1/chat/completions"]), ("perplexity", ["/v1/perplexity"])],
)
def test_what_is_not_served_says_so(part, paths):
    served = Served(config(**{part: None}))
    for path in paths:
        status, kind, message = error(ask(path, BODIES[path], served))
        assert (status, kind) == (501, "not_served")
        assert message.startswith(f"{part} is null")
    assert ask("/readyz", served=served).json() == {"ready": True, "reasons": {}}


def test_ready_tells_which_part_is_not():
    served = Served()
    served.scorer.why = "no replica answers"
    response = ask("/readyz", served=served)
    assert response.status_code == 503
    assert response.json() == {"ready": False, "reasons": {"perplexity": "no replica answers"}}
    assert ask("/healthz", served=served).status_code == 200


def test_the_parts_are_not_asked_anew_for_every_probe():
    class Asked(ScriptedScorer):
        times = 0

        async def ready(self):
            Asked.times += 1

    async def often(served):
        await asyncio.gather(*(served.ask("/readyz") for _ in range(9)))

    asyncio.run(often(Served(scorer=Asked())))
    assert Asked.times == 1


def test_the_engine_is_closed_with_the_application():
    async def lived(served):
        async with served.app.router.lifespan_context(served.app):
            assert not served.engine.closed

    served = Served()
    asyncio.run(lived(served))
    assert served.engine.closed
