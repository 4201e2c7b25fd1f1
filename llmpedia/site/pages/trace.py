"""What stands behind an article: what was asked, what was answered, what was decided, and by which
answer.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from llmpedia.site.data.run_reader import Entity, Row, SiteRun
from llmpedia.site.pages import fates
from llmpedia.site.pages.claim_views import ShownClaim
from llmpedia.site.pages.views import Context, article_views, parse
from llmpedia.site.urls import Addresses
from llmpedia.stage_list import stage_titles


@dataclass(frozen=True)
class Call:
    """A question with its answer. ``anchor``: its place on the page; ``settings``: (name, value) of
    how it was asked.
    """

    anchor: str
    title: str
    stage: str
    model: str
    turns: tuple[tuple[str, str], ...]
    answer: str | None
    error: str | None
    settings: tuple[tuple[str, str], ...]
    constraint: str | None


@dataclass(frozen=True)
class LinkDecision:
    """A candidate: what was linked and what became of it. ``ner`` and ``arbitration``: anchors of
    the deciding answers.
    """

    anchor: str
    row: Row
    meaning: fates.Meaning
    reason: str
    joined: Entity | None
    ner: str | None
    arbitration: str | None


@dataclass(frozen=True)
class Traced:
    """A sentence of the article. ``claims``: taken from it, each with (what was done, anchor of the
    judge's answer).
    """

    number: int
    text: str
    claims: tuple[tuple[ShownClaim, tuple[tuple[str, str], ...]], ...]


def trace_page(run: SiteRun, entity: Entity, others: Sequence[SiteRun], to: Addresses) -> Context:
    """All questions, answers and decisions of an entity's visits."""
    article = run.article(entity.id)
    rows = {row["key"]: row for row in run.completions(entity.id)}
    candidates = run.candidates(entity.id)
    _add_reused(run, entity, candidates, article, rows)
    sentences, judged = _sentences(run, entity, article)
    return {
        **article_views(run, entity, others, to, "trace"),
        "article": article,
        "subject": run.subject(entity.id),
        "source": run.source(entity.id),
        "calls": [_call(row) for row in rows.values()],
        "judge_calls": [_call(row) for row in judged.values()],
        "decisions": [_decision(run, row, rows) for row in candidates],
        "written_by": _anchor(article["completion"], rows) if article else None,
        "sentences": sentences,
    }


def _add_reused(
    run: SiteRun, entity: Entity, candidates: Sequence[Row], article: Row | None, rows: dict[str, Row]
) -> None:
    """Answers that were asked for another subject and taken here as well."""
    keys = [row[column] for row in candidates for column in ("ner_completion", "arbitration_completion")]
    keys += [article["outline_completion"], article["completion"]] if article else []
    for key in dict.fromkeys(keys):
        if key is not None and key not in rows and (completion := run.completion(key, entity.id)) is not None:
            rows[key] = completion


def _sentences(run: SiteRun, entity: Entity, article: Row | None) -> tuple[list[Traced], dict[str, Row]]:
    """The article's sentences with their claims, and the judge's answers behind those."""
    if article is None:
        return [], {}
    parsed = parse(run, entity, article)
    judged: dict[str, Row] = {}
    audits = {audit.name: audit for audit in run.site_audits}
    answers_of: dict[int, list[tuple[str, str]]] = {}
    extraction = {audit.audit: audit.row["claims_completion"] for audit in run.audits(entity.id)}
    for claim in (claim for one in parsed.checked for claim in one.claims):
        asked = [("taken from the text", extraction[claim.audit])]
        asked += [(f"judged by {ruling.tier}", ruling.completion) for ruling in claim.rulings]
        for done, key in asked:
            if (
                key is not None
                and key not in judged
                and (row := audits[claim.audit].completion(entity.id, key)) is not None
            ):
                judged[key] = row
            if key in judged:
                answers_of.setdefault(claim.number, []).append((done, _anchor_of(key)))
    shown = [
        Traced(n, text, tuple((c, tuple(answers_of.get(c.number, ()))) for c in parsed.claims_of.get(n, ())))
        for n, text in enumerate(parsed.page.sentences)
    ]
    return shown, judged


def _decision(run: SiteRun, row: Row, rows: dict[str, Row]) -> LinkDecision:
    joined = run.entity(row["entity_id"]) if row["entity_id"] is not None else None
    return LinkDecision(
        anchor=f"candidate-{row['position']}",
        row=row,
        meaning=fates.meaning(row["fate"]),
        reason=fates.reason(row),
        joined=joined,
        ner=_anchor(row["ner_completion"], rows),
        arbitration=_anchor(row["arbitration_completion"], rows),
    )


def _call(row: Row) -> Call:
    sampling = _json(row["sampling"])
    settings = {
        **({k: v for k, v in sampling.items() if v is not None} if isinstance(sampling, dict) else {}),
        "finish": row["finish_reason"],
        "prompt tokens": row["prompt_tokens"],
        "answer tokens": row["completion_tokens"],
        "cached tokens": row["cached_tokens"],
        "bound as": row["fallback"],
    }
    return Call(
        anchor=_anchor_of(row["key"]),
        title=stage_titles().get(row["stage"], row["stage"].replace("_", " ")),
        stage=row["stage"],
        model=row["model"] or "",
        turns=_turns(row["messages"]),
        answer=_pretty(row["text"]),
        error=row["error"],
        settings=tuple(
            (name.replace("_", " "), str(value)) for name, value in settings.items() if value is not None
        ),
        constraint=_pretty(row["constraint"]),
    )


def _turns(messages: str | None) -> tuple[tuple[str, str], ...]:
    """(role, content) of a stored prompt; whatever cannot be read as one is shown as it is."""
    parsed = _json(messages)
    if isinstance(parsed, list) and all(isinstance(turn, dict) for turn in parsed):
        return tuple((str(turn.get("role", "")), _text(turn.get("content"))) for turn in parsed)
    return (("prompt", messages),) if messages else ()


def _text(content: Any) -> str:
    return content if isinstance(content, str) else json.dumps(content, indent=1, ensure_ascii=False)


def _pretty(text: str | None) -> str | None:
    """JSON in lines; anything else as it is."""
    parsed = _json(text)
    return json.dumps(parsed, indent=1, ensure_ascii=False) if isinstance(parsed, dict | list) else text


def _json(text: str | None) -> Any:
    """The value of a JSON text; None where it is none."""
    try:
        return json.loads(text) if text else None
    except (ValueError, RecursionError):
        return None


def _anchor(key: str | None, rows: dict[str, Row]) -> str | None:
    return _anchor_of(key) if key in rows else None


def _anchor_of(key: str | None) -> str:
    """A place on the page: keys are hexadecimal, but a file may hold anything."""
    return "answer-" + "".join(c if c.isascii() and c.isalnum() else "-" for c in str(key))[:20]
