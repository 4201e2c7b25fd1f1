"""The world's model at the stages of a probe's build: it labels, compares, asks and checks by what
it reads in the texts sent.

No planted fact is looked up here. What it cannot read it says so: no value, ``keep`` false, not
supported, little confidence.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from llmpedia.rehearsal.model.judge import between, numbered
from llmpedia.rehearsal.model.web_agent import next_action, statements_for
from llmpedia.rehearsal.planted.document_reader import About, Read, Stated, compatible, plainness, read
from llmpedia.rehearsal.planted.kinds import ATTRIBUTES, kinds
from llmpedia.rehearsal.planted.questions import PlantedQuestion, clue_question, named_question, understood
from llmpedia.rehearsal.world.names import fold
from llmpedia.rehearsal.world.seeded_random import share
from llmpedia.rehearsal.world.world import World

PROBE_STAGES = ("knowledge_point", "relation", "questions", "read_check", "web_check", "closed_book")
_SENTENCE = re.compile(r"^\[(\d+)\] (.*)$", re.M)
_DOCUMENT = re.compile(r"<document (\d+)(?:, account (\d+))?>\n(.*?)\n</document>", re.S)
_SIDES = re.compile(r"<document a>\n(.*?)\n</document>\n<document b>\n(.*)\n</document>", re.S)
_LINE = {
    key: re.compile(rf"^{key}: (.*)$", re.M)
    for key in ("Subject", "Attribute", "Question", "Second question")
}
_OPEN = "(open)"
_SURE = 0.95
_UNSURE = 0.3
_ANY_PATH = "Reference and General Information > General Reference and Documentation > Encyclopedic Summaries"


@dataclass(frozen=True, slots=True)
class _Shown:
    """A document of a prompt. ``account``: its number from 1; None: not told."""

    number: int
    account: int | None
    text: str
    read: Read | None


class ProbeModel:
    """Answers the stages of a build about one world."""

    def __init__(self, world: World) -> None:
        self._world = world

    def answer(self, stage: str, user: str, schema: dict[str, Any]) -> str:
        """The JSON of the answer to the user turn of a stage."""
        answer = {
            "knowledge_point": lambda: self._label(user, schema),
            "relation": lambda: self._compare(user),
            "questions": lambda: _write(user),
            "read_check": lambda: _check(user),
            "web_check": lambda: next_action(user),
        }[stage]()
        return json.dumps(answer, ensure_ascii=False)

    def _label(self, user: str, schema: dict[str, Any]) -> dict[str, Any]:
        """The knowledge point by the noun of the subject; its evidence is the sentence that states
        something.
        """
        lines = {int(m.group(1)): m.group(2) for m in _SENTENCE.finditer(between(user, "document"))}
        document = read(" ".join(lines.values()))
        paths = schema.get("properties", {}).get("path", {}).get("enum") or sorted(_paths().values())
        if document is None:
            path = _ANY_PATH if _ANY_PATH in paths else paths[0]
            return {"path": path, "confidence": _UNSURE, "first": 0, "last": 0}
        seed = self._world.settings.seed
        faults = self._world.settings.faults
        path = _paths()[document.about.noun]
        if faults.label_mistakes and share(seed, "label slip", user) < faults.label_mistakes:
            path = paths[int(share(seed, "other label", user) * len(paths))]
        sentence = document.stated[0].sentence if document.stated else lines.get(0, "")
        at = next((n for n, line in lines.items() if sentence in line or line in sentence), 0)
        return {"path": path, "confidence": _SURE, "first": at, "last": at}

    def _compare(self, user: str) -> dict[str, Any]:
        """The four decisions on two documents."""
        sides = _SIDES.search(user)
        texts = (sides.group(1), sides.group(2)) if sides else ("", "")
        a, b = map(read, texts)
        if a is None or b is None:
            return _relation(_line(user, "Subject"), "", None, None, (False,) * 4)
        wanted = _wanted(_line(user, "Attribute"))
        one, other = _matched(a, b, wanted)
        if one is None or other is None or one.slot.name != other.slot.name:
            return _relation(
                a.about.name, wanted or "", one, other, (_meant(user, a, b), False, False, False)
            )
        same = compatible(one.slot.value, one.value, other.value)
        context = one.context == other.context
        if self._slips("relation slip", *texts):
            same, context = (not same, context) if one.value != other.value else (same, not context)
        attribute = ATTRIBUTES[one.slot.name]
        return _relation(a.about.name, attribute, one, other, (_meant(user, a, b), True, context, same))

    def _slips(self, *decision: object) -> bool:
        faults = self._world.settings.faults
        return (
            bool(faults.relation_mistakes)
            and share(self._world.settings.seed, *decision) < faults.relation_mistakes
        )


def _paths() -> dict[str, str]:
    """Noun -> knowledge point."""
    return {noun: path for kind in kinds() for noun, path in kind.nouns.items()}


def _line(user: str, key: str) -> str:
    match = _LINE[key].search(user)
    return match.group(1).strip() if match else ""


def _wanted(attribute: str) -> str | None:
    """The attribute that a prompt names, as it is called here; None: any. A strange one stays as it
    is.
    """
    if not attribute or attribute == _OPEN:
        return None
    return next((name for name, wording in ATTRIBUTES.items() if attribute in (wording, name)), attribute)


def _matched(a: Read, b: Read, wanted: str | None) -> tuple[Stated | None, Stated | None]:
    """What both state of one attribute, in the same context if there is such; else what either
    states of the one wanted.
    """
    ones, others = ([s for s in side.stated if wanted in (None, s.slot.name)] for side in (a, b))
    both = [(one, other) for one in ones for other in others if one.slot.name == other.slot.name]
    both.sort(key=lambda pair: pair[0].context != pair[1].context)
    if both:
        return both[0]
    return next(iter(ones), None), next(iter(others), None)


def _meant(user: str, a: Read, b: Read) -> bool:
    """Whether both documents are on one subject, and that is the one a prompt names."""
    named = fold(_line(user, "Subject"))
    subject = fold(a.about.name)
    return a.about.same(b.about) and (named in subject or subject in named)


def _relation(
    subject: str, attribute: str, a: Stated | None, b: Stated | None, decisions: tuple[bool, ...]
) -> dict[str, Any]:
    names = ("same_subject", "same_attribute", "same_context", "values_compatible")
    values = {f"value_{side}": "" if s is None else s.value for side, s in (("a", a), ("b", b))}
    values |= {f"span_{side}": "" if s is None else s.sentence for side, s in (("a", a), ("b", b))}
    label = "none" if not all(decisions[:3]) else "support" if decisions[3] else "conflict"
    return {
        "subject": subject,
        "attribute": attribute,
        **values,
        **dict(zip(names, decisions, strict=True)),
        "relation": label,
    }


def _documents(user: str) -> list[_Shown]:
    documents = ((int(m[1]), int(m[2]) if m[2] else None, m[3]) for m in _DOCUMENT.finditer(user))
    return [_Shown(number, account, text, read(text)) for number, account, text in documents]


def _write(user: str) -> dict[str, Any]:
    """Two questions on what the documents state, or why there are none."""
    shown = _documents(user)
    wanted = _wanted(_line(user, "Attribute"))
    accounts = dict(_accounts(user))
    statements: dict[int, list[tuple[_Shown, Stated]]] = {number: [] for number in accounts}
    for document in shown:
        for stated in document.read.stated if document.read else ():
            if (
                wanted in (None, stated.slot.name, fold(ATTRIBUTES[stated.slot.name]))
                and document.account in statements
            ):
                statements[document.account].append((document, stated))
    why = _unfit(statements, shown)
    if why is not None:
        return _rejected(why)
    first = next(iter(statements.values()))[0]
    abouts = [d.read.about for rows in statements.values() for d, _ in rows if d.read]
    about = next((a for a in abouts if a.mark), abouts[0])
    if about.mark is None:
        return _rejected(
            "nothing in the documents describes the subject well enough for a question without its name"
        )
    slot = first[1].slot
    context = first[1].context
    answers = [_answer(rows) for rows in statements.values()]
    return {
        "keep": True,
        "reason": "",
        "named_entity": named_question(about, slot, context),
        "clue_based": clue_question(about, slot, context),
        "answers": answers,
        "preferred_answer": max(
            zip(statements.values(), answers, strict=True), key=lambda pair: len(pair[0])
        )[1]["value"],
    }


def _accounts(user: str) -> list[tuple[int, str]]:
    """(number, value) of the accounts that a prompt for questions lists."""
    block = user.partition("\nAccounts:\n")[2].partition("\n<document ")[0]
    return numbered(block)


def _unfit(statements: dict[int, list[tuple[_Shown, Stated]]], shown: Iterable[_Shown]) -> str | None:
    """Why the documents make no question, or None."""
    if len(statements) < 2 or not all(statements.values()):
        return "no document that could be read gives one of the accounts"
    rows = [row for account in statements.values() for row in account]
    facts = {(stated.slot.name, stated.context) for _, stated in rows}
    first = rows[0][0].read
    if len(facts) > 1 or first is None or not all(d.read and d.read.about.same(first.about) for d in shown):
        return "the documents are not about one fact"
    kind = rows[0][1].slot.value
    values = [[stated.value for _, stated in account] for account in statements.values()]
    for i, account_value in enumerate(values):
        if not all(compatible(kind, account_value[0], value) for value in account_value):
            return "documents of one account disagree"
        if any(compatible(kind, a, b) for other in values[:i] for a in account_value for b in other):
            return "two accounts are the same"
    return None


def _answer(rows: list[tuple[_Shown, Stated]]) -> dict[str, Any]:
    value = min((stated.value for _, stated in rows), key=plainness)
    spans = list(dict.fromkeys(stated.sentence for _, stated in rows))
    return {"value": value, "documents": sorted({d.number for d, _ in rows}), "spans": spans}


def _rejected(why: str) -> dict[str, Any]:
    return {
        "keep": False,
        "reason": why,
        "named_entity": "",
        "clue_based": "",
        "answers": [],
        "preferred_answer": "",
    }


def _check(user: str) -> dict[str, Any]:
    """For each account the document and the sentence that state it, and whether both questions ask
    for that.
    """
    named = understood(_line(user, "Question"))
    clue = understood(_line(user, "Second question"))
    documents = _documents(user)
    proofs = {str(n): _proof(account, named, documents) for n, account in numbered(between(user, "accounts"))}
    abouts = [d.read.about for d in documents if d.read]
    fit = (
        named is not None
        and clue is not None
        and named.same_fact(clue)
        and any(_fits(a, named, clue) for a in abouts)
    )
    return {
        "accounts": proofs,
        "questions_fit": fit,
        "reason": "" if fit else "the questions do not ask for one fact of one subject",
    }


def _fits(about: About, named: PlantedQuestion, clue: PlantedQuestion) -> bool:
    described = (about.noun, about.region) == (named.noun, named.region) and about.mark == clue.mark
    return described and fold(about.name) == fold(named.name or "")


def _proof(account: str, question: PlantedQuestion | None, documents: list[_Shown]) -> dict[str, Any]:
    for document in documents if question else ():
        for stated in statements_for(question, document.read):
            if compatible(stated.slot.value, account, stated.value):
                return {"supported": True, "document": document.number, "quote": stated.sentence}
    return {"supported": False, "document": None, "quote": ""}
