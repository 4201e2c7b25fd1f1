"""Whether the web bears out every account of a question, found by an agent that searches, reads and
quotes (paper, section 3.3).

The model chooses what to do next; what it may do, and whether it has shown what it claims, is
decided here. A quote counts only where the full text of a page that was read in this check holds
it. Whatever is refused stands in the log with its reason, so that the model can do better.
"""

import re
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from llmpedia.engines.preflight import Need
from llmpedia.probe.documents import held
from llmpedia.probe.questions import account_keys
from llmpedia.probe.questions.answer_leakage import without_figures
from llmpedia.probe.questions.source_independence import Seeds
from llmpedia.probe.questions.web_tools import WebPage, WebTools, hits_of, page_of
from llmpedia.probe.settings.build import BuildConfig, ValidationSection
from llmpedia.prompts import load_prompt
from llmpedia.stages import (
    AnswerError,
    Completer,
    Completion,
    Constraint,
    Pairs,
    Request,
    Stage,
    ask,
    neutral,
    object_schema,
    one_line,
    parse_only_object,
)
from llmpedia.text.passages import render_passages, select_passages, tokens
from llmpedia.web.address import Address, parse
from llmpedia.web.search import Hit

Row = dict[str, Any]
Action = Literal["search", "fetch", "finish"]
_ACTIONS: tuple[Action, ...] = get_args(Action)
# Characters that are asked for and shown; an address that is longer can neither be.
_QUERY = 200
_URL = 500
_QUOTE = 500
_TITLE = 120
_SNIPPET = 300
_PASSAGE_WORDS = 80
_LEAST_WORDS = 4  # of a quote: a bare value is on any page
# What begins an entry of the log must not begin a line of a page.
_ENTRY = re.compile(r"^(?=\s*(?:search|page|refused):)", re.M | re.I)


@dataclass(frozen=True)
class Group:
    """A question with its accounts, and the documents it was made from. ``seed_texts``: to tell
    copies of them.
    """

    group_id: str
    question: str
    accounts: tuple[str, ...]
    seed_urls: tuple[str, ...]
    seed_texts: tuple[str, ...] = ()


@dataclass(frozen=True)
class AgentView:
    """What the agent is shown before each action."""

    question: str
    accounts: tuple[str, ...]
    searches_left: int
    pages_left: int
    steps_left: int
    log: str


@dataclass(frozen=True)
class Claim:
    """What the agent says of an account at the end."""

    supported: bool
    url: str
    quote: str


@dataclass(frozen=True)
class AgentAction:
    """What the agent wants done; ``claims`` is by account, at the end only."""

    action: Action
    query: str = ""
    url: str = ""
    claims: tuple[Claim, ...] = ()


class WebCheck(Stage[AgentView, AgentAction]):
    """One action of the agent."""

    name = "web_check"
    config: BuildConfig

    def __init__(self, config: BuildConfig) -> None:
        super().__init__(config, load_prompt("probe/web_check"), "")

    def values(self, question: AgentView) -> dict[str, str]:
        """See :class:`Stage`."""
        return {
            "question": neutral(one_line(question.question)),
            "accounts_block": account_keys.listed(question.accounts),
            "searches_left": str(question.searches_left),
            "pages_left": str(question.pages_left),
            "steps_left": str(question.steps_left),
            "log_block": neutral(question.log) or "(empty)",
        }

    def constraint(self, question: AgentView) -> Constraint:
        """See :class:`Stage`."""
        url = {"type": "string", "maxLength": _URL}
        quote = {"type": "string", "maxLength": _QUOTE}
        claim = object_schema({"supported": {"type": "boolean"}, "url": url, "quote": quote})
        return Constraint(
            json_schema=object_schema(
                {
                    "action": {"enum": list(_ACTIONS)},
                    "query": {"type": "string", "maxLength": _QUERY},
                    "url": url,
                    "accounts": object_schema(dict.fromkeys(account_keys.keys(question.accounts), claim)),
                }
            )
        )

    def parse(self, question: AgentView, text: str) -> AgentAction:
        """The action; accounts are read where it is ``finish``, and then there must be one decision
        on each.
        """
        answer = parse_only_object(text)
        action = answer.get("action")
        query = answer.get("query", "")
        url = answer.get("url", "")
        once = len(answer.pairs) == len(answer)
        if action not in _ACTIONS or not isinstance(query, str) or not isinstance(url, str) or not once:
            raise AnswerError(
                'the answer is not {"action": "search", "fetch" or "finish", "query": "...", '
                '"url": "...", ...}'
            )
        if action != "finish":
            return AgentAction(action, one_line(query)[:_QUERY], url.strip())
        rows = account_keys.decisions(answer.get("accounts"), question.accounts)
        return AgentAction(action, claims=tuple(_claim(number, row) for number, row in enumerate(rows, 1)))


def _claim(number: int, row: object) -> Claim:
    if isinstance(row, Pairs) and len(row.pairs) == len(row):
        supported = row.get("supported")
        url = row.get("url", "")
        quote = row.get("quote", "")
        if isinstance(supported, bool) and isinstance(url, str) and isinstance(quote, str):
            return Claim(supported, url.strip(), one_line(quote))
    raise AnswerError(f'account {number} is not {{"supported": true or false, "url": "...", "quote": "..."}}')


def web_check_need(config: BuildConfig) -> Need:
    """What the agent's last turns take of its context at most."""
    checks = config.validation
    stage = WebCheck(config)
    results = checks.searches * (
        _QUERY + config.web.results * (_URL // 2 + _TITLE + _SNIPPET)
    )  # few addresses are the longest
    return Need(
        stage.name,
        len(stage.prompt.system) + results + checks.fetches * checks.shown_chars,
        stage.settings.max_tokens or 0,
    )


@dataclass(frozen=True)
class WebChecked:
    """What became of a group. ``row``: of the table ``checks``; ``completions``: all that were
    asked, in order.

    Searches and pages are among the latter, under the stages of
    :mod:`llmpedia.probe.questions.web_tools`.
    """

    row: Row
    completions: list[tuple[Request, Completion]]


async def web_check(
    group: Group, tools: WebTools, client: Completer, stage: WebCheck, settings: ValidationSection
) -> WebChecked:
    """Let an agent look for pages that bear out the accounts of a group; failures of model and
    pages are values.

    Raises: EngineError, InputError: model or search engine answer nobody, or the journal cannot be
        written; the run can be resumed.
    """
    check = _Check(group, tools, settings)
    for step in range(settings.steps):
        reply = await ask(client, stage, check.view(settings.steps - step))
        check.completions += reply.completions
        check.decided_by = reply.key
        if reply.value is None:
            return check.ended("error", reply.error)
        ended = await check.act(reply.value)
        if ended is not None:
            return ended
    return check.ended("rejected", "budget")


@dataclass
class _Check:
    """One check while it runs."""

    group: Group
    tools: WebTools
    settings: ValidationSection
    log: list[str] = field(default_factory=list)
    completions: list[tuple[Request, Completion]] = field(default_factory=list)
    queries: set[str] = field(default_factory=set)
    listed: set[str] = field(default_factory=set)
    asked: set[str] = field(default_factory=set)
    pages: dict[str, WebPage] = field(default_factory=dict)
    searches: int = 0
    fetches: int = 0
    corrected: bool = False
    decided_by: str | None = None

    def __post_init__(self) -> None:
        self.seeds = Seeds(self.group.seed_urls, self.group.seed_texts, self.settings.independent)

    def view(self, steps_left: int) -> AgentView:
        """What the agent is shown."""
        searches = self.settings.searches - self.searches
        pages = self.settings.fetches - self.fetches
        return AgentView(
            self.group.question, self.group.accounts, searches, pages, steps_left, "\n".join(self.log)
        )

    async def act(self, action: AgentAction) -> WebChecked | None:
        """Do what the agent wants, or say in the log why not; the outcome where this ends the
        check.
        """
        if action.action == "finish":
            return self._finish(action.claims)
        if action.action == "search":
            await self._search(action.query)
        else:
            await self._fetch(action.url)
        return None

    async def _search(self, query: str) -> None:
        why = self._no_search(query)
        if why is not None:
            self._refuse(f"search {query!r}", why)
            return
        self.queries.add(query.casefold())
        self.searches += 1
        completion = await self._ask(self.tools.search, self.tools.search_request(query))
        self.log.append(f"search: {query}")
        if completion.error is None:
            self._list(hits_of(completion))
        else:
            self.log.append("(failed: no answer)")

    def _no_search(self, query: str) -> str | None:
        if not query:
            return "a search needs words"
        if query.casefold() in self.queries:
            return "this was searched for already, see above"
        return "no search is left" if self.searches >= self.settings.searches else None

    def _list(self, hits: list[Hit]) -> None:
        """Show the results that may be read."""
        shown = 0
        for hit in hits:
            address = parse(hit.url)
            if isinstance(address, str) or len(address.url) > _URL or self._barred(address.url):
                continue
            self.listed.add(address.url)
            shown += 1
            title = one_line(hit.title)[:_TITLE]
            snippet = one_line(hit.snippet)[:_SNIPPET]
            self.log.append(f"{shown}. {address.url} | {title} | {snippet}")
        if shown < len(hits):
            self.log.append(f"({len(hits) - shown} more may not serve as evidence)")
        if not hits:
            self.log.append("(no results)")

    def _barred(self, url: str) -> str | None:
        """Why an address may not serve as evidence, or None."""
        return self.seeds.refusal(url) or self.tools.refusal(url)

    async def _fetch(self, url: str) -> None:
        address = parse(url)
        why = address if isinstance(address, str) else self._no_fetch(address.url)
        if why is not None or isinstance(address, str):
            self._refuse(f"fetch {one_line(url)[:_URL]}", str(why))
            return
        self.asked.add(address.url)
        self.fetches += 1
        completion = await self._ask(self.tools.page, self.tools.page_request(address.url))
        page = "failed: no answer" if completion.error is not None else page_of(completion)
        if isinstance(page, WebPage):
            page = self._dependent(page) or page
        self.log.append(f"page: {address.url}")
        if isinstance(page, str):
            self.log.append(f"({one_line(page)})")
        else:
            self.pages |= {address.url: page, page.final_url: page}
            self.log.append(self._shown(page))

    def _no_fetch(self, url: str) -> str | None:
        barred = self._barred(url)
        if barred:
            return barred
        if url not in self.listed:
            return "not among the results above; copy an address from them"
        if url in self.asked:
            return "this page was asked for already, see above"
        return "no page is left" if self.fetches >= self.settings.fetches else None

    def _dependent(self, page: WebPage) -> str | None:
        """Why a page that was read is no independent source, or None."""
        why = self._barred(page.final_url)
        if why:
            return f"refused: leads to {page.final_url}: {why}"
        return (
            "refused: a copy of a document that the question was made from"
            if self.seeds.copied(page.text)
            else None
        )

    def _shown(self, page: WebPage) -> str:
        """The passages nearest to question and accounts; no line of them begins like an entry of
        the log.
        """
        asked = [*self.group.accounts, self.group.question]
        text = "\n".join(page.text.splitlines())
        cut = render_passages(select_passages(text, asked, self.settings.shown_chars, _PASSAGE_WORDS))
        return _ENTRY.sub("| ", cut)

    def _finish(self, claims: tuple[Claim, ...]) -> WebChecked | None:
        if not self.searches:
            self._refuse("finish", "nothing was searched for yet")
            return None
        problems = [
            self._problem(account, claim) for account, claim in zip(self.group.accounts, claims, strict=True)
        ]
        proofs = [
            self._proof(i, claim, why) for i, (claim, why) in enumerate(zip(claims, problems, strict=True))
        ]
        reasons = "; ".join(f"account {i}: {why}" for i, why in enumerate(problems, 1) if why)
        if not reasons:
            return self.ended("kept", None, proofs)
        if self.corrected or not all(claim.supported for claim in claims):
            return self.ended("rejected", reasons, proofs)
        self.corrected = True
        self._refuse("finish", reasons)
        return None

    def _problem(self, account: str, claim: Claim) -> str | None:
        """Why an account is not borne out, or None."""
        if not claim.supported:
            return "no support found"
        page = self._page(claim.url)
        if page is None:
            return f"{one_line(claim.url)[:_URL] or 'no address'} is no page that was read here"
        if sum(1 for _ in tokens(claim.quote)) < _LEAST_WORDS:
            return f"the quote has less than {_LEAST_WORDS} words"
        if without_figures(account, claim.quote):
            return "the quote does not hold the value"
        # the agent reads tags that were made harmless
        return (
            None
            if held(claim.quote, page.text) or held(claim.quote, neutral(page.text))
            else "the page does not hold the quote"
        )

    def _page(self, url: str) -> WebPage | None:
        address = parse(url)
        return self.pages.get(address.url) if isinstance(address, Address) else None

    def _proof(self, account: int, claim: Claim, why: str | None) -> Row:
        page = self._page(claim.url) if why is None else None
        url, quote = (None, None) if page is None else (page.final_url, claim.quote)
        return {"account": account, "supported": why is None, "url": url, "quote": quote}

    def _refuse(self, what: str, why: str) -> None:
        self.log.append(f"refused: {what}: {why}")

    async def _ask(self, tool: Completer, request: Request) -> Completion:
        completion = await tool.complete(request)
        self.completions.append((request, completion))
        return completion

    def ended(
        self, fate: Literal["kept", "rejected", "error"], reason: str | None, proofs: list[Row] | None = None
    ) -> WebChecked:
        """The outcome; without proofs where the agent came to no end."""
        row = {
            "group_id": self.group.group_id,
            "check": "web",
            "fate": fate,
            "reason": reason,
            "proofs": proofs or [],
            "searches": self.searches,
            "fetches": self.fetches,
            "by": None,
            "completion": self.decided_by,
        }
        return WebChecked(row, self.completions)
