"""Search engines: what each is asked and how its answer is read."""

import asyncio
import json
import sys

import pytest
from aiohttp import web

from llmpedia.errors import ConfigError, EngineError, TransientError
from llmpedia.web.search import Hit, make_search, quoted

KEYS = ["VALYU_API_KEY", "SERPER_API_KEY", "BRAVE_API_KEY"]
HIT = Hit("https://nasa.gov/x", "A title", "A snippet")

# Shapes as the engines' references show them.
SHAPES = {
    "valyu": {
        "success": True,
        "error": None,
        "tx_id": "tx_1",
        "results": [
            {
                "id": "1",
                "title": "A title",
                "url": "https://nasa.gov/x",
                "content": "Long",
                "description": "A snippet",
                "source": "web",
            }
        ],
    },
    "serper": {
        "searchParameters": {"q": "x", "type": "search"},
        "organic": [
            {"title": "A title", "link": "https://nasa.gov/x", "snippet": "A snippet", "position": 1}
        ],
        "credits": 1,
    },
    "brave": {
        "type": "search",
        "query": {"original": "x"},
        "web": {
            "type": "search",
            "results": [
                {"title": "A title", "url": "https://nasa.gov/x", "description": "A <strong>snippet</strong>"}
            ],
        },
    },
    "searxng": {
        "query": "x",
        "number_of_results": 0,
        "results": [
            {"url": "https://nasa.gov/x", "title": "A title", "content": "A snippet", "engine": "brave"}
        ],
        "unresponsive_engines": [["google", "timeout"]],
    },
    "rehearsal": {"results": [{"url": "https://nasa.gov/x", "title": "A title", "snippet": "A snippet"}]},
}
NOTHING = {
    "valyu": {"success": True, "results": []},
    "serper": {"searchParameters": {"q": "x"}, "credits": 1},
    "brave": {"type": "search", "query": {"original": "x"}},
    "searxng": {"results": [], "unresponsive_engines": []},
    "rehearsal": {"results": []},
}
HTML = """<html><body><div class="links_main result__body"><h2><a href="https://nasa.gov/x">A title</a></h2>
<a class="result__snippet" href="https://nasa.gov/x">A snippet</a></div></body></html>"""


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    for name in KEYS:
        monkeypatch.setenv(name, "k")


def ask(kind, answer, status=200, query="x", most=10, headers=None):
    """(hits, the request as the engine got it) of one search against an engine that gives this
    answer.
    """
    seen = []

    async def handle(request):
        body = await request.text()
        seen.append((request.method, request.path, dict(request.query), request.headers, body))
        text = answer if isinstance(answer, str) else json.dumps(answer)
        return web.Response(
            text=text,
            status=status,
            headers=headers,
            content_type="text/html" if kind == "duckduckgo" else "application/json",
        )

    async def run():
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", handle)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        engine = make_search(kind, f"http://127.0.0.1:{runner.addresses[0][1]}/", 5)
        try:
            return await engine.search(query, most)
        finally:
            await engine.close()
            await runner.cleanup()

    return asyncio.run(run()), seen[0]


@pytest.mark.parametrize("kind", SHAPES)
def test_an_engines_answer_is_read(kind):
    assert ask(kind, SHAPES[kind])[0] == [HIT]


@pytest.mark.parametrize("kind", NOTHING)
def test_an_engines_word_for_nothing_is_nothing(kind):
    assert ask(kind, NOTHING[kind])[0] == []


@pytest.mark.parametrize(
    ("kind", "method", "path", "header"),
    [
        ("valyu", "POST", "/v1/search", "X-API-Key"),
        ("serper", "POST", "/search", "X-API-KEY"),
        ("brave", "GET", "/res/v1/web/search", "X-Subscription-Token"),
    ],
)
def test_an_engine_is_asked_at_its_address_with_its_key(kind, method, path, header):
    _, seen = ask(kind, SHAPES[kind])
    assert (seen[0], seen[1], seen[3][header]) == (method, path, "k")


@pytest.mark.parametrize("kind", SHAPES)
def test_the_query_arrives(kind):
    _, (_, _, params, _, body) = ask(kind, SHAPES[kind], query='"São Paulo"')
    sent = params.get("q") or json.loads(body).get("query") or json.loads(body).get("q")
    assert sent == ("São Paulo" if kind == "rehearsal" else '"São Paulo"')


@pytest.mark.parametrize("kind", SHAPES)
def test_no_more_hits_than_asked_for(kind):
    key = {"serper": "organic"}.get(kind, "results")
    many = json.loads(json.dumps(SHAPES[kind]))
    holder = many["web"] if kind == "brave" else many
    holder[key] = holder[key] * 5
    assert len(ask(kind, many, most=2)[0]) == 2


@pytest.mark.parametrize("status", [401, 402, 403])
@pytest.mark.parametrize("kind", SHAPES)
def test_a_refused_key_ends_the_command_in_one_line(kind, status):
    with pytest.raises(
        EngineError, match=rf"search engine {kind}:http://127.0.0.1:\d+ refuses: HTTP {status}"
    ) as e:
        ask(kind, {"message": "Unauthorized.\nno"}, status)
    assert "\n" not in str(e.value)


@pytest.mark.parametrize(
    ("kind", "status", "said"),
    [
        ("brave", 422, {"error": {"code": "SUBSCRIPTION_TOKEN_INVALID"}}),
        ("serper", 400, {"message": "Not enough credits"}),
    ],
)
def test_a_refused_key_is_told_by_its_words_too(kind, status, said):
    with pytest.raises(EngineError):
        ask(kind, said, status)


@pytest.mark.parametrize("status", [400, 404, 408, 422, 429, 500, 503])
@pytest.mark.parametrize("kind", SHAPES)
def test_a_failure_is_not_nothing(kind, status):
    """Guards against counting an overloaded engine as an unknown subject."""
    with pytest.raises(TransientError):
        ask(kind, NOTHING[kind], status)


@pytest.mark.parametrize(
    "answer",
    [
        "<html>busy</html>",
        "[]",
        "null",
        '{"results": 3, "organic": 3, "type": "search", "web": 3}',
        '{"error": "x"}',
    ],
)
@pytest.mark.parametrize("kind", SHAPES)
def test_an_unreadable_answer_is_not_nothing(kind, answer):
    with pytest.raises(TransientError):
        ask(kind, answer)


def test_valyus_own_word_for_failure_is_not_nothing():
    with pytest.raises(TransientError, match="overloaded"):
        ask("valyu", {"success": False, "error": "overloaded", "results": []})


def test_searxng_without_its_engines_is_not_nothing():
    with pytest.raises(TransientError, match="google"):
        ask("searxng", {"results": [], "unresponsive_engines": [["google", "timeout"]]})


def test_the_wait_that_an_engine_asks_for_is_kept():
    with pytest.raises(TransientError) as e:
        ask("brave", {}, 429, headers={"Retry-After": "7"})
    assert (e.value.wait_s, e.value.rate_limited) == (7, True)


def test_an_engine_that_is_not_there_is_transient():
    engine = make_search("searxng", "http://127.0.0.1:9", 5)

    async def run():
        try:
            await engine.search("x", 1)
        finally:
            await engine.close()

    with pytest.raises(TransientError):
        asyncio.run(run())


def test_valyus_article_is_cut_to_a_snippet():
    answer = {
        "success": True,
        "results": [{"title": "T", "url": "https://nasa.gov/x", "content": "word " * 9000}],
    }
    assert 900 < len(ask("valyu", answer)[0][0].snippet) <= 1000


def test_hits_without_an_address_are_left_out():
    assert ask("rehearsal", {"results": [{"title": "x"}, {"url": None}, {"url": "u"}]})[0] == [
        Hit("u", "", "")
    ]


def test_duckduckgos_page_is_read():
    assert ask("duckduckgo", HTML)[0] == [HIT]


def test_duckduckgos_page_without_results_is_nothing():
    assert ask("duckduckgo", "<html><body><p>No results.</p></body></html>")[0] == []


@pytest.mark.parametrize("status", [202, 403, 429, 500])
def test_duckduckgo_that_turns_us_away_is_not_nothing(status):
    """Guards against ddgs's "No results found." for a refusal."""
    with pytest.raises(TransientError):
        ask("duckduckgo", "<html><body>anomaly</body></html>", status)


@pytest.mark.parametrize(
    ("given", "kind"), [(KEYS, "valyu"), (KEYS[1:], "serper"), (KEYS[2:], "brave"), ([], "duckduckgo")]
)
def test_the_first_engine_at_hand_is_taken_in_the_papers_order(monkeypatch, given, kind):
    for name in set(KEYS) - set(given):
        monkeypatch.delenv(name)
    assert make_search(None, None, 5).name.startswith(f"{kind}:")


def test_ones_own_searxng_comes_before_duckduckgo(monkeypatch):
    for name in KEYS:
        monkeypatch.delenv(name)
    assert make_search(None, "http://localhost:8888", 5).name == "searxng:http://localhost:8888"


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        ("bing", "no such search engine"),
        ("searxng", "web.base_url is null"),
        ("serper", "SERPER_API_KEY"),
        ("duckduckgo", "ddgs"),
    ],
)
def test_an_engine_that_cannot_be_had_names_the_setting(monkeypatch, kind, word):
    monkeypatch.delenv("SERPER_API_KEY")
    monkeypatch.setitem(sys.modules, "ddgs.engines.duckduckgo", None)
    with pytest.raises(ConfigError, match=word) as caught:
        make_search(kind, None, 5)
    assert str(caught.value).startswith(f"web.backend = {kind!r}")


@pytest.mark.parametrize(
    ("subject", "query"),
    [
        ("Vannevar Bush", '"Vannevar Bush"'),
        ('"Weird Al" Yankovic', '"Weird Al Yankovic"'),
        ("“Curly”  «Joe»", '"Curly Joe"'),
        ("Rock 'n' Roll", "\"Rock 'n' Roll\""),
    ],
)
def test_the_query_is_the_name_as_a_phrase(subject, query):
    """Guards against a quotation mark in the subject breaking the query."""
    assert quoted(subject) == query
