"""The world's model: a chat request in, the answer's text out; a pure function of both.

It knows a stage by the name of the schema that comes with it, or else by the words of the prompt,
as a real model would; an extra turn that rejects an answer sends it back to the real question. In a
stage that it has no knowledge for it answers with the simplest value that fits the schema, and to
what is no stage with "Yes".
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from llmpedia.rehearsal.model import prose_other, recall
from llmpedia.rehearsal.model.judge import JudgeModel
from llmpedia.rehearsal.model.persona_framing import framed, stance_of, turned
from llmpedia.rehearsal.model.probe_model import PROBE_STAGES, ProbeModel
from llmpedia.rehearsal.model.schema_answers import simplest
from llmpedia.rehearsal.planted.questions import understood
from llmpedia.rehearsal.world import prose
from llmpedia.rehearsal.world.model_profiles import THINKING, Mind, Minds, OtherMind
from llmpedia.rehearsal.world.seeded_random import dice, share
from llmpedia.rehearsal.world.world import World
from llmpedia.stage_list import all_stages, names_of
from llmpedia.stages import is_retry

# The stages of walks and audits that the world has an answer for.
_ANSWERED = frozenset({"self_grounding", "outline", "article", "ner", "arbitration", "claims", "verdict"})
_SUBJECT = re.compile(r"^Subject: (.*)$", re.M)
_ROOT = re.compile(r"^Root topic: (.*)$", re.M)
# What tells the user turn of a stage; the first that fits.
_WORDS = {
    "verdict": ("\n<claims>\n", "\n<evidence>\n"),
    "claims": ("\n<article>\n",),
    "ner": ("\nCandidates:\n",),
    "article": ('{"sections"',),
}
# What begins the user turn of a stage of a probe's build, and what else it holds.
_PROBE_WORDS = {
    "knowledge_point": ("Sentences: ", "\n<document>\n[0] "),
    "relation": ("Subject: ", "\n<document a>\n"),
    "questions": ("Subject: ", "\nAccounts:\n1. "),
    "read_check": ("Question: ", "\nSecond question: "),
    "web_check": ("Question: ", "\n<log>\n"),
}
_FROM_MEMORY = "the question from memory"
_BETWEEN = re.compile(r"(\d+) to (\d+) section headings")
_NAMED_IN = ". Named in the article on "
_PARENT_ENDS = re.compile(r" \(|: ")
_STARTING = ". A starting point of this encyclopedia."
_MOST_CLAIMS = re.compile(r"at most (\d+) (?:different )?claims", re.I)
_OPTION = re.compile(r"([A-Z]\d*): (.*)")


@dataclass(frozen=True)
class ChatQuestion:
    """A question, taken apart. ``stage``: a name of ``stage_list``, or ``other``. ``thinks``: an
    answer comes after a thought.
    """

    stage: str
    system: str
    user: str
    schema: dict[str, Any]
    model: str = ""
    thinks: bool = False


def asked(body: dict[str, Any]) -> ChatQuestion:
    """What a chat request asks."""
    messages = [
        m for m in body.get("messages") or [] if isinstance(m, dict) and isinstance(m.get("content"), str)
    ]
    system = "\n".join(m["content"] for m in messages if m.get("role") == "system")
    form = (body.get("response_format") or {}).get("json_schema") or {}
    model = str(body.get("model"))
    thinks = _thinks(body, model)
    for message in reversed(messages):
        user = message["content"]
        if message.get("role") != "user" or is_retry(user):
            continue
        named = form.get("name")
        stage = named if named in names_of(all_stages()) else _stage_by_words(system, user)
        return ChatQuestion(stage, system, user, form.get("schema") or {}, model, thinks)
    return ChatQuestion("other", system, "", {}, model, thinks)


def _thinks(body: dict[str, Any], model: str) -> bool:
    """Whether a thought is to come before an answer: as the request's chat template is told, or
    else by effort and name.
    """
    enabled = (body.get("chat_template_kwargs") or {}).get("enable_thinking")
    return (
        bool(enabled)
        if enabled is not None
        else body.get("reasoning_effort") not in (None, "none") or model.endswith(THINKING)
    )


def _stage_by_words(system: str, user: str) -> str:
    for stage, (begins, holds) in _PROBE_WORDS.items():
        if user.startswith(begins) and holds in user:
            return stage
    if user.startswith("Candidate: ") and "\nKnown:\n" in user:
        return "arbitration"
    if user.startswith("Question: ") and "\n<accounts>\n" in user:
        return "grade"
    if not _SUBJECT.match(user):
        return "closed_book" if _FROM_MEMORY in system or understood(user) is not None else "other"
    for stage, words in _WORDS.items():
        if all(w in user for w in words):
            return stage
    return "self_grounding" if "salient_facts" in system else "outline"


class WorldModel:
    """Answers chat requests about one world."""

    def __init__(self, world: World) -> None:
        self.world = world

    @property
    def world(self) -> World:
        """The world it speaks of."""
        return self._world

    @world.setter
    def world(self, world: World) -> None:
        self._world = world
        self._judge = JudgeModel(world)
        self._probe = ProbeModel(world)
        self._minds = Minds(world)

    def answer(self, body: dict[str, Any]) -> tuple[str, str]:
        """(text, finish_reason) of the answer to the body of a chat request."""
        return self.answer_to(asked(body)), "stop"

    def answer_to(self, q: ChatQuestion) -> str:
        """The text of the answer; "Yes" to what no stage asks."""
        if q.stage == "arbitration" and q.user.startswith("Candidate: "):
            return self._arbitrate(q.user, self._minds.of(q.model))
        if q.stage == "grade" or q.stage in PROBE_STAGES:
            return self._of_a_probe(q)
        if q.stage not in _ANSWERED and q.stage != "other":
            return json.dumps(simplest(q.schema), ensure_ascii=False)
        subject = _SUBJECT.search(q.user)
        return "Yes" if subject is None else self._on(subject.group(1), q)

    def _of_a_probe(self, q: ChatQuestion) -> str:
        if q.stage == "grade":
            return self._judge.grade(q.user)
        if q.stage == "closed_book":
            return recall.answer(self.world, q.model, q.user, q.thinks)
        return self._probe.answer(q.stage, q.user, q.schema)

    def _on(self, name: str, q: ChatQuestion) -> str:
        """The answer to a question on a subject of the encyclopedia."""
        if q.stage == "ner" and "Candidates:\n" in q.user:
            return self._ner(name, q)
        answers: dict[str, Callable[[], str]] = {
            "outline": lambda: self._outline(name, q),
            "claims": lambda: self._judge.claims(name, q.user, _most_claims(q)),
            "verdict": lambda: self._judge.verdicts(name, q.user),
            "self_grounding": lambda: prose.fact_sheet(self.world, name, self._minds.of(q.model).facts),
        }
        return answers[q.stage]() if q.stage in answers else self._article(name, q)

    def _article(self, subject: str, q: ChatQuestion) -> str:
        mind = self._minds.of(q.model)
        headings = _headings(q.user)
        calibrated = "(0.97)" in q.system or "(score)" in q.system
        if isinstance(mind, OtherMind):
            text = prose_other.article(mind, subject, headings, calibrated)
        else:
            text = prose.article(self.world, subject, headings, calibrated)
        stance = stance_of(self.world.settings, q.system)
        return text if stance is None else framed(self.world.settings, text, stance, q.model, subject)

    def _outline(self, subject: str, q: ChatQuestion) -> str:
        bounds = q.schema.get("properties", {}).get("sections", {})
        words = _BETWEEN.search(q.system)
        least = bounds.get("minItems") or (int(words.group(1)) if words else 4)
        most = bounds.get("maxItems") or (int(words.group(2)) if words else 6)
        root = _ROOT.search(q.user)
        topic = root.group(1) if root else None
        mind = self._minds.of(q.model)
        if isinstance(mind, OtherMind):
            sections = prose_other.outline(mind, subject, least, most, topic)
        else:
            sections = prose.outline(self.world, subject, least, most, topic)
        stance = stance_of(self.world.settings, q.system)
        if stance is not None:
            sections = turned(self.world.settings, sections, stance, q.model, subject)
        return json.dumps({"sections": sections}, ensure_ascii=False)

    def _ner(self, subject: str, q: ChatQuestion) -> str:
        phrases = q.user.split("Candidates:\n", 1)[1].split("\n")
        calibrated = '"confidence"' in q.system
        decisions = {p: self._decision(subject, p, calibrated) for p in phrases}
        if '{"phrases": [' in q.system:
            rows = [
                {"phrase": p, **(d if isinstance(d, dict) else {"is_ne": d})} for p, d in decisions.items()
            ]
            return json.dumps({"phrases": rows}, ensure_ascii=False)
        return json.dumps(decisions, ensure_ascii=False)

    def _decision(self, subject: str, phrase: str, calibrated: bool) -> bool | dict[str, Any]:
        settings = self.world.settings
        named = self.world.deserves(subject, phrase)
        if (
            settings.faults.ner_mistakes
            and share(settings.seed, "slip", subject, phrase) < settings.faults.ner_mistakes
        ):
            named = not named
        if not calibrated:
            return named
        return {
            "is_ne": named,
            "confidence": round(0.8 + 0.19 * share(settings.seed, "sure", subject, phrase), 2),
        }

    def _arbitrate(self, user: str, mind: Mind) -> str:
        candidate, _, known = user.removeprefix("Candidate: ").partition("\nKnown:\n")
        options = [
            (m.group(1), self.meant(m.group(2), mind)) for m in map(_OPTION.match, known.split("\n")) if m
        ]
        meant = self.meant(candidate, mind)
        right = next((letter for letter, entity in options if entity is not None and entity == meant), "none")
        settings = self.world.settings
        rng = dice(settings.seed, "judge", user)
        if settings.faults.arbitration_mistakes and rng.random() < settings.faults.arbitration_mistakes:
            others = [letter for letter in (*(o[0] for o in options), "none") if letter != right]
            right = others[int(rng.random() * len(others))]
        return json.dumps({"duplicate_of": right})

    def meant(self, context: str, mind: Mind | None = None) -> int | None:
        """The entity that a line of context speaks of: "NAME. Named in the article on PARENT ..."
        or "NAME. NAME is ...".

        ``mind``: of the model that wrote the parent's article, if not ``rehearsal``.
        """
        name, named_in, rest = context.partition(_NAMED_IN)
        if named_in and "\n" not in name and self.world.senses(name):
            return (mind or self._minds.of("")).sense(
                name, self._parent(rest) if len(self.world.senses(name)) > 1 else None
            )
        name = context.partition(_STARTING)[0]
        if name != context:
            return self.world.entity(name)
        at = context.find(". ")
        while at >= 0:  # the first cut after which the lead begins with the name: names hold full stops too
            if context.startswith(context[:at], at + 2):
                return self.world.entity(context[:at])
            at = context.find(". ", at + 1)
        return self.world.entity(context.partition(". ")[0])

    def _parent(self, rest: str) -> str:
        """The parent's name out of "PARENT (lead): sentence" or "PARENT: sentence", where names
        hold either sign.
        """
        cuts = sorted({m.start() for m in _PARENT_ENDS.finditer(rest)})
        begun = (rest[:c] for c in cuts if rest.startswith(rest[:c], c + 2))
        known = (rest[:c] for c in cuts if self.world.entity(rest[:c]) is not None)
        return next(begun, None) or next(known, None) or rest[: cuts[0] if cuts else len(rest)]


def _most_claims(q: ChatQuestion) -> int:
    """How many claims are asked for; the paper's 10 where the prompt does not say."""
    words = _MOST_CLAIMS.search(q.user) or _MOST_CLAIMS.search(q.system)
    return int(words.group(1)) if words else 10


def _headings(user: str) -> list[str]:
    at = user.rfind('{"sections"')
    try:
        sections = json.loads(user[at:])["sections"] if at >= 0 else []
    except (ValueError, KeyError, TypeError):
        return []
    return [str(s) for s in sections] if isinstance(sections, list) else []
