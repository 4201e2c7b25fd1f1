"""A finished audit against the planted truth. A pure function of the audit's folder and the world.

Definitions known       a claim that states a fact of its article's entity as the model that wrote
    it does; the others are ``unknown``. planted     what the fact behind a known claim deserves:
    true -> supported, false -> refuted, absent (from all sources) ->
                insufficient. Web pages contradict each other here and there by design: the web tier
                need not come to 0 points.
    shares      over the known claims of an article that have one of the three verdicts: supported /
                n, refuted / n, insufficient / n; then the mean over articles with usable evidence
                and n > 0 (paper, section 4.2). ``recovered`` from the verdicts, ``planted`` from
                the facts of the same claims, ``points`` = 100 times recovered - planted.
    coverage    subjects with usable evidence / subjects whose outcome is known (not fetch_failed);
                ``planted``: the same subjects, those for which the world has usable evidence.
    wrong_outcome  outcomes that the world contradicts. Wikipedia: all but the one of the page under
                the subject's name. Web: no page where the world has pages; that a search finds
                something for a name the world lacks is not wrong.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from llmpedia.audit.evidence import TIERS, USABLE, Outcome, Tier
from llmpedia.rehearsal.model.fact_reader import Reader
from llmpedia.rehearsal.scoring.walk import writer_of
from llmpedia.rehearsal.world.model_profiles import Mind
from llmpedia.rehearsal.world.sources import normal_title, page
from llmpedia.rehearsal.world.world import World
from llmpedia.store.run_folder import RunFolder

_DESERVED = {"true": "supported", "false": "refuted", "absent": "insufficient"}
_VERDICTS = tuple(_DESERVED.values())
_SHARES = {"true": "supported", "false": "refuted", "unverifiable": "insufficient"}

Row = dict[str, Any]


@dataclass(frozen=True)
class _Audit:
    """``names``: of the sampled subjects. ``planted``: claim -> the verdict it deserves, null for
    an unknown one.
    """

    names: dict[int, str]
    planted: dict[int, str | None]
    evidence: list[Row]
    verdicts: list[Row]


def score_audit(audit: RunFolder, world: World) -> dict[str, Row]:
    """All figures: section -> name -> number, or None where there is nothing to divide by.
    Sections: claims, and of each tier its figures and ``confusion`` (planted -> verdict).

    Raises:
        InputError: a file of the audit is missing or damaged.
    """
    read = _read(audit, world)
    known = sum(planted is not None for planted in read.planted.values())
    figures: dict[str, Row] = {
        "claims": {"claims": len(read.planted), "known": known, "unknown": len(read.planted) - known}
    }
    for tier in TIERS:
        evidence = [row for row in read.evidence if row["tier"] == tier]
        verdicts = [row for row in read.verdicts if row["tier"] == tier]
        if evidence or verdicts:
            figures[tier] = _tier(tier, evidence, verdicts, read, world)
            figures[f"{tier}: confusion"] = _confusion(verdicts, read)
    return figures


def _read(audit: RunFolder, world: World) -> _Audit:
    names = {row["subject_id"]: row["name"] for row in _rows(audit, "sample", "subject_id", "name")}
    reader = Reader(world)
    mind = writer_of(audit, world)
    claims = _rows(audit, "claims", "claim_id", "subject_id", "text")
    return _Audit(
        names=names,
        planted={c["claim_id"]: deserved(reader, mind, names[c["subject_id"]], c["text"]) for c in claims},
        evidence=_rows(audit, "evidence", "subject_id", "tier", "outcome"),
        verdicts=_rows(audit, "verdicts", "claim_id", "subject_id", "tier", "verdict"),
    )


def _rows(audit: RunFolder, table: str, *columns: str) -> list[Row]:
    rows: list[Row] = audit.read(table, columns=list(columns)).to_pylist()
    return rows


def deserved(reader: Reader, mind: Mind, subject: str, claim: str) -> str | None:
    """The verdict that a claim of a mind's article on a subject deserves; None for one that is no
    fact that it states.
    """
    stated = reader.sentence(claim)
    entity = mind.world.entity(subject)
    if stated is None or entity is None or mind.world.entity(stated.subject) != entity:
        return None
    facts = (f for f in mind.facts(entity) if f.template == stated.template.text)
    return next(
        (_DESERVED[f.truth] for f in facts if reader.agree(stated.template, f.claimed, stated.what)), None
    )


def _tier(tier: Tier, evidence: list[Row], verdicts: list[Row], read: _Audit, world: World) -> Row:
    outcomes = {row["subject_id"]: Outcome(row["outcome"]) for row in evidence}
    expected = {s: _expected(tier, world, read.names[s]) for s in outcomes}
    looked = {s: outcome for s, outcome in outcomes.items() if outcome != Outcome.FETCH_FAILED}
    return {
        "subjects": len(outcomes),
        "fetch_failed": len(outcomes) - len(looked),
        "wrong_outcome": sum(_wrong(tier, outcome, expected[s]) for s, outcome in looked.items()),
        **_beside(
            "coverage",
            _share(o in USABLE for o in looked.values()),
            _share(expected[s] in USABLE for s in looked),
        ),
        "not_adjudicated": sum(row["verdict"] not in _VERDICTS for row in verdicts),
        **_macro(verdicts, {s for s, outcome in looked.items() if outcome in USABLE}, read),
    }


def _expected(tier: Tier, world: World, name: str) -> Outcome:
    """What looking for evidence on a name comes to if nothing goes wrong."""
    if tier == "web":
        return Outcome.NOTHING if world.entity(name) is None else Outcome.PAGES
    if normal_title(name) is None:
        return Outcome.INVALID
    expected_page = page(world, name)
    if expected_page is None:
        return Outcome.MISSING
    if expected_page.senses:
        return Outcome.DISAMBIGUATION
    return Outcome.REDIRECTED if expected_page.redirect else Outcome.FOUND


def _wrong(tier: Tier, outcome: Outcome, expected: Outcome) -> bool:
    return expected == Outcome.PAGES and outcome not in USABLE if tier == "web" else outcome != expected


def _macro(verdicts: list[Row], usable: set[int], read: _Audit) -> Row:
    """Mean shares over articles, recovered beside planted."""
    by_article: dict[int, list[tuple[str, str]]] = defaultdict(list)
    for row in verdicts:
        planted = read.planted[row["claim_id"]]
        if planted is not None and row["verdict"] in _VERDICTS and row["subject_id"] in usable:
            by_article[row["subject_id"]].append((row["verdict"], planted))
    out: Row = {"articles": len(by_article), "judged": sum(map(len, by_article.values()))}
    for name, label in _SHARES.items():
        recovered, planted_ = (
            _mean([sum(pair[side] == label for pair in pairs) / len(pairs) for pairs in by_article.values()])
            for side in (0, 1)
        )
        out |= _beside(name, recovered, planted_)
    return out


def _beside(name: str, recovered: float | None, planted: float | None) -> Row:
    points = None if recovered is None or planted is None else 100 * (recovered - planted)
    return {f"{name} recovered": recovered, f"{name} planted": planted, f"{name} points": points}


def _confusion(verdicts: list[Row], read: _Audit) -> Row:
    counts = Counter((read.planted[row["claim_id"]] or "unknown", row["verdict"]) for row in verdicts)
    every = [(planted, verdict) for planted in _VERDICTS for verdict in _VERDICTS]
    return {
        f"{planted} -> {verdict}": counts[planted, verdict]
        for planted, verdict in dict.fromkeys([*every, *sorted(counts)])
    }


def _share(hits: Iterable[bool]) -> float | None:
    return _mean([float(hit) for hit in hits])


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None
