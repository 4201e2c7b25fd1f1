"""The world's model as a judge: claims out of an article, verdicts on claims against evidence
(paper, section 4.2), grades.

It reads what it is sent and nothing else: no planted fact is ever looked up here. The world only
tells it which names are of one entity, as a judge who knows the language would know.
"""

import json
import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

from llmpedia.rehearsal.model.fact_reader import Reader, Statement
from llmpedia.rehearsal.world.seeded_random import dice, share
from llmpedia.rehearsal.world.world import World

_LABELS = ("supported", "refuted", "insufficient")
_ERRORS = {"year": "temporal", "count": "numerical", "large": "numerical", "place": "spatial_geographic"}
_PROPERTY = "definitional_property"
_NUMBERED = re.compile(r"^\s*(\d+)\. (.*)$")
_FIRST_SENTENCE = re.compile(r".+?\.(?=\s|$)", re.S)
_FIGURE = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?(?!\w)")
_LONGEST = 300


@dataclass(frozen=True)
class _Decision:
    """``label``, why in words, and the kind of error for ``refuted``."""

    label: str
    why: str
    error_type: str | None = None


class JudgeModel:
    """Answers the stages ``claims``, ``verdict`` and ``grade`` about one world."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._reader = Reader(world)

    def claims(self, subject: str, user: str, most: int) -> str:
        """The JSON of the first ``most`` facts that the article in a prompt states about its
        subject.

        An article without any gives its first sentence: the answer must hold a claim.
        """
        text = between(user, "article")
        statements = self._reader.statements(text, [subject])
        claims = list(
            dict.fromkeys(s.template.text.format(s=subject, o=s.what) for s in statements)
        ) or _opening(text)
        return json.dumps({"claims": claims[:most]}, ensure_ascii=False)

    def verdicts(self, subject: str, user: str) -> str:
        """The JSON of a verdict on each claim of a prompt."""
        evidence = between(user, "evidence")
        verdicts = [
            self._verdict(subject, number, claim, evidence)
            for number, claim in numbered(between(user, "claims"))
        ]
        return json.dumps({"verdicts": verdicts}, ensure_ascii=False)

    def _verdict(self, subject: str, number: int, claim: str, evidence: str) -> dict[str, Any]:
        decided = self._mistaken(subject, claim, self._decided(claim, evidence))
        sure = round(0.85 + 0.14 * share(self._world.settings.seed, "sure", subject, claim), 2)
        row = {"idx": number, "verdict": decided.label, "error_type": decided.error_type, "confidence": sure}
        return row | {"explanation": decided.why[:_LONGEST]}

    def _decided(self, claim: str, evidence: str) -> _Decision:
        stated = self._reader.sentence(claim)
        if stated is None:
            there = " ".join(claim.split()) in " ".join(evidence.split())
            return _Decision("supported", f'The evidence says: "{claim}"') if there else _silence()
        names = self._reader.names_of(stated.subject)
        statements = self._reader.statements(evidence, names, [stated.template])
        return self._weighed(stated, statements) if statements else _silence()

    def _weighed(self, claim: Statement, statements: list[Statement]) -> _Decision:
        """By what most of the sentences say; where as many say one thing as another, by the first."""
        kept: list[str] = []  # for each sentence the first wording of its object
        for statement in statements:
            known = (k for k in kept if self._reader.agree(claim.template, k, statement.what))
            kept.append(next(known, statement.what))
        what = Counter(kept).most_common(1)[0][0]
        quote = statements[kept.index(what)].quote
        if self._reader.agree(claim.template, what, claim.what):
            return _Decision("supported", f'The evidence says: "{quote}"')
        return _Decision(
            "refuted", f'The evidence says: "{quote}"', _ERRORS.get(claim.template.kind, _PROPERTY)
        )

    def grade(self, user: str) -> str:
        """The JSON of a decision on each account of a prompt, and of what contradicts them.

        An account is covered where its text stands in the response, or else all figures that no
        other account has. Another figure of as many digits, in the response alone, contradicts.
        """
        response = between(user, "response")
        question = user.partition("\n")[0]
        accounts = dict(numbered(between(user, "accounts")))
        figures = {number: _figures(text) for number, text in accounts.items()}
        keys = {
            n: {f for f in its_figures if sum(f in other for other in figures.values()) == 1}
            for n, its_figures in figures.items()
        }
        given = _figures(response)
        decisions = {}
        for number, account in accounts.items():
            there = _stands_in(account, response) or (bool(keys[number]) and keys[number] <= set(given))
            decided = there != self._slips("grade slip", question, account, response)
            decisions[str(number)] = {
                "evidence": "It says so." if decided else "It does not say so.",
                "covered": decided,
            }
        digits = {len(f) for its_figures in keys.values() for f in its_figures}
        known = {*_figures(question), *(f for its_figures in figures.values() for f in its_figures)}
        strange = [
            {"value": f, "why": "No account gives it."} for f in given if f not in known and len(f) in digits
        ]
        return json.dumps({"accounts": decisions, "contradictions": strange}, ensure_ascii=False)

    def _slips(self, *decision: object) -> bool:
        """Whether a decision is in the planted share of mistakes."""
        return share(self._world.settings.seed, *decision) < self._world.settings.faults.judge_mistakes

    def _mistaken(self, subject: str, claim: str, right: _Decision) -> _Decision:
        """Another decision in the planted share of cases."""
        wanted = self._world.settings.faults.judge_mistakes
        rng = dice(self._world.settings.seed, "verdict slip", subject, claim)
        if not wanted or rng.random() >= wanted:
            return right
        others = [label for label in _LABELS if label != right.label]
        label = others[int(rng.random() * len(others))]
        return _Decision(label, "The evidence was read in haste.", "other" if label == "refuted" else None)


def between(user: str, tag: str) -> str:
    """What stands between a tag's lines in a prompt; empty if they are not there."""
    return user.partition(f"<{tag}>\n")[2].rpartition(f"\n</{tag}>")[0]


def numbered(block: str) -> list[tuple[int, str]]:
    """(number, text) of the numbered lines of a block."""
    lines = map(_NUMBERED.match, block.split("\n"))
    return [(int(m.group(1)), m.group(2)) for m in lines if m]


def _figures(text: str) -> list[str]:
    """The figures of a text in order, each once, without the commas of thousands."""
    return list(dict.fromkeys(m.group().replace(",", "") for m in _FIGURE.finditer(text)))


def _stands_in(part: str, text: str) -> bool:
    """Whether a text holds another as whole words and figures, whatever the case and the white
    space.
    """
    part, text = (" ".join(t.casefold().split()) for t in (part, text))
    return re.search(rf"(?<!\w)(?<!\d[.,]){re.escape(part)}(?!\w|[.,]\d)", text) is not None


def _opening(text: str) -> list[str]:
    first = _FIRST_SENTENCE.search(text)
    return [" ".join((first.group() if first else text).split())]


def _silence() -> _Decision:
    return _Decision("insufficient", "The evidence does not mention it.")
