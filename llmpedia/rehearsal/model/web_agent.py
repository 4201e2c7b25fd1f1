"""The world's model as the agent that looks for web pages on the accounts of a question: one action
from what the log shows.

It searches for the subject by name, reads the results that seem to be on it until each account has
a sentence that states it, and then says what it found.
"""

import re
from typing import Any

from llmpedia.rehearsal.model.judge import between, numbered
from llmpedia.rehearsal.planted.document_reader import Read, Stated, compatible, read
from llmpedia.rehearsal.planted.questions import PlantedQuestion, understood
from llmpedia.rehearsal.world.names import fold

_LEFT = re.compile(r"^Searches left: (\d+)\. Pages left: (\d+)\. Steps left: (\d+)\.", re.M)
_QUESTION = re.compile(r"^Question: (.*)$", re.M)
_SEARCHED = re.compile(r"^search: (.*)$", re.M)
_RESULT = re.compile(r"^\d+\. (\S+) \| (.*?) \| (.*)$", re.M)
_PAGE = re.compile(r"^page: (\S+)\n(.*?)(?=^(?:page|search|refused): |\Z)", re.M | re.S)
_REFUSED = re.compile(r"^refused: fetch (\S+): ", re.M)

Quote = tuple[str, str]  # address, sentence


def statements_for(question: PlantedQuestion | None, document: Read | None) -> list[Stated]:
    """What a text states of the very thing that a question asks for."""
    if question is None or document is None:
        return []
    about = document.about
    named = question.name is None or fold(question.name) == fold(about.name)
    marked = question.mark is None or question.mark == about.mark
    if not named or not marked or (about.noun, about.region) != (question.noun, question.region):
        return []
    return [s for s in document.stated if (s.slot.name, s.context) == (question.slot.name, question.context)]


def next_action(user: str) -> dict[str, Any]:
    """What to do next, by the user turn of the stage."""
    asked = _QUESTION.search(user)
    log = between(user, "log")
    question = understood(asked.group(1)) if asked else None
    accounts = numbered(between(user, "accounts"))
    searches, pages = _left(user)
    searched = [q.strip() for q in _SEARCHED.findall(log)]
    quotes = _quotes(question, accounts, log)
    if len(quotes) == len(accounts) and searched:
        return _finish(accounts, quotes)
    for query in _queries(question, asked.group(1) if asked else ""):
        if query not in searched and searches > 0 and not _results(log):
            return _action("search", accounts, query=query)
    url = next((u for u in _worth_reading(question, log)), None)
    if url is not None and pages > 0:
        return _action("fetch", accounts, url=url)
    return _finish(accounts, quotes)


def _left(user: str) -> tuple[int, int]:
    """Searches and pages that are left."""
    match = _LEFT.search(user)
    return (int(match.group(1)), int(match.group(2))) if match else (0, 0)


def _queries(question: PlantedQuestion | None, asked: str) -> list[str]:
    """What to search for, in this order, while there are no results."""
    if question is None or question.name is None:
        return [asked[:150]]
    return [question.name, f"{question.name} {question.noun} {question.region}"]


def _results(log: str) -> list[tuple[str, str, str]]:
    """(address, title, snippet) of all results shown, each once."""
    return list({m.group(1): (m.group(1), m.group(2), m.group(3)) for m in _RESULT.finditer(log)}.values())


def _worth_reading(question: PlantedQuestion | None, log: str) -> list[str]:
    """Addresses not read yet; those under another title or whose snippet introduces somebody else
    are left out.
    """
    if question is None or question.name is None:
        return []
    done = {m.group(1) for m in _PAGE.finditer(log)} | set(_REFUSED.findall(log))
    titled = [
        (url, read(snippet)) for url, title, snippet in _results(log) if fold(question.name) in fold(title)
    ]
    subject = (question.noun, question.region)
    return [
        url
        for url, document in titled
        if url not in done and (document is None or (document.about.noun, document.about.region) == subject)
    ]


def _quotes(question: PlantedQuestion | None, accounts: list[tuple[int, str]], log: str) -> dict[int, Quote]:
    """Number of an account -> the first page and sentence that state it."""
    quotes: dict[int, Quote] = {}
    for page in _PAGE.finditer(log):
        for stated in statements_for(question, read(page.group(2))):
            for number, account in accounts:
                if compatible(stated.slot.value, account, stated.value):
                    quotes.setdefault(number, (page.group(1), stated.sentence))
    return quotes


def _action(action: str, accounts: list[tuple[int, str]], query: str = "", url: str = "") -> dict[str, Any]:
    none = {"supported": False, "url": "", "quote": ""}
    return {"action": action, "query": query, "url": url, "accounts": {str(n): none for n, _ in accounts}}


def _finish(accounts: list[tuple[int, str]], quotes: dict[int, Quote]) -> dict[str, Any]:
    claims = {}
    for number, _ in accounts:
        url, quote = quotes.get(number, ("", ""))
        claims[str(number)] = {"supported": bool(url), "url": url, "quote": quote}
    return {"action": "finish", "query": "", "url": "", "accounts": claims}
