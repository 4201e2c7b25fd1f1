"""What an audit's verdicts say: scores of each article and tier, their macro averages by group, and
where articles ended.

Formulas (paper, section 4.2), over an article's adjudicated claims N = n_s + n_r + n_u (supported,
refuted, insufficient): precision = n_s / (n_s + n_r), true = n_s / N, false = n_r / N, unverifiable
= n_u / N; coverage = articles with usable evidence / articles whose evidence outcome is known.
Shares are from 0 to 1; one that is not defined is null, never 0. Not adjudicated are the claims of
an article with usable evidence that got no verdict: they are outside of N, and shown.
"""

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from llmpedia.audit.evidence import TIERS, USABLE, Outcome
from llmpedia.audit.stages import LABELS, NOT_ADJUDICATED
from llmpedia.errors import InputError

Row = dict[str, Any]
Rows = list[Row]

_ARTICLE = ("subject_id", "position", "name", "hop", "strata", "words", "claims", "claims_error")
SHARES = ("precision", "true", "false", "unverifiable")
RESAMPLES = 2000
"""Bootstrap resamples of articles."""
NOT_LOOKED_UP = "not_looked_up"
"""Stands for the outcome of an article that has no evidence row in a tier that others have."""


@dataclass(frozen=True)
class AuditData:
    """The four tables of an audit, checked against each other; made by :meth:`of`."""

    articles: Rows
    claims: Rows
    outcomes: dict[tuple[int, str], Outcome]
    verdicts: dict[tuple[int, str], str]

    @classmethod
    def of(cls, articles: Any, claims: Any, evidence: Any, verdicts: Any) -> "AuditData":
        """From sequences of rows or pyarrow tables; only the columns needed are read, so not the
        evidence's texts.

        Raises:
            InputError: a row is double, refers to nothing, is of an unknown kind, or was judged
            without usable evidence.
        """
        subjects = _keyed(rows_of(articles, _ARTICLE), ("subject_id",), "article")
        known_claims = _keyed(rows_of(claims, ("claim_id", "subject_id")), ("claim_id",), "claim")
        evidence_rows = _keyed(
            rows_of(evidence, ("subject_id", "tier", "outcome")), ("subject_id", "tier"), "evidence"
        )
        judged = _keyed(rows_of(verdicts, ("claim_id", "tier", "verdict")), ("claim_id", "tier"), "verdict")
        outcomes = {key: _outcome(row) for key, row in evidence_rows.items()}
        _check_claims(subjects, known_claims)
        for row in judged.values():
            _check_verdict(row, known_claims, outcomes)
        return cls(
            articles=list(subjects.values()),
            claims=list(known_claims.values()),
            outcomes=outcomes,
            verdicts={key: row["verdict"] for key, row in judged.items()},
        )

    @property
    def tiers(self) -> list[str]:
        """Tiers in which evidence was looked for, in the order of the contract."""
        return [tier for tier in TIERS if any(t == tier for _, t in self.outcomes)]


def rows_of(table: Any, columns: Sequence[str]) -> Rows:
    """Columns of the rows of a pyarrow table, or of any sequence of mappings."""
    if hasattr(table, "to_pylist"):
        return cast(Rows, table.select(list(columns)).to_pylist())
    return [{c: row[c] for c in columns} for row in table]


def _keyed(rows: Rows, columns: tuple[str, ...], what: str) -> dict[Any, Row]:
    keyed: dict[Any, Row] = {}
    for row in rows:
        key = tuple(row[c] for c in columns)
        if keyed.setdefault(key if len(key) > 1 else key[0], row) is not row:
            named = ", ".join(f"{c} = {v!r}" for c, v in zip(columns, key, strict=True))
            raise InputError(
                f"{what} {named}: there are two such rows; each must be there once: write the "
                f"audit's tables anew"
            )
    return keyed


def _outcome(row: Row) -> Outcome:
    if row["tier"] not in TIERS or row["outcome"] not in set(Outcome):
        raise InputError(
            f"evidence of subject_id = {row['subject_id']!r}: tier {row['tier']!r} with outcome "
            f"{row['outcome']!r}; must be one "
            f"of {', '.join(TIERS)} and one of {', '.join(Outcome)}: write the audit's tables anew"
        )
    return Outcome(row["outcome"])


def _check_claims(subjects: dict[int, Row], claims: dict[int, Row]) -> None:
    counted = Counter(row["subject_id"] for row in claims.values())
    for subject, n in counted.items():
        if subject not in subjects:
            raise InputError(
                f"subject_id = {subject!r}: {n} claims of an article that was not audited; leave them out"
            )
    for subject, row in subjects.items():
        if row["claims"] is not None and row["claims_error"] is not None:
            raise InputError(
                f"article subject_id = {subject!r}: claims = {row['claims']!r} beside claims_error "
                f"= {row['claims_error']!r}; "
                "one of them must be null: write the audit's tables anew"
            )
        if (row["claims"] or 0) != counted[subject]:
            raise InputError(
                f"article subject_id = {subject!r}: claims = {row['claims']!r}, but it has "
                f"{counted[subject]} rows of claims; "
                "they must agree: write the audit's tables anew"
            )


def _check_verdict(row: Row, claims: dict[int, Row], outcomes: dict[tuple[int, str], Outcome]) -> None:
    """A verdict needs its claim, a known class and, unless it is none, usable evidence."""
    claim = claims.get(row["claim_id"])
    tier = row["tier"]
    verdict = row["verdict"]
    where = f"verdict of claim_id = {row['claim_id']!r}, tier {tier!r}"
    if claim is None:
        raise InputError(f"{where}: there is no such claim; write the audit's tables anew")
    if verdict not in (*LABELS, NOT_ADJUDICATED):
        raise InputError(
            f"{where}: {verdict!r} is no verdict; must be one of {', '.join((*LABELS, NOT_ADJUDICATED))}"
        )
    outcome = outcomes.get((claim["subject_id"], tier))
    if verdict != NOT_ADJUDICATED and outcome not in USABLE:
        outcome_name = outcome or "no evidence row"
        raise InputError(
            f"{where}: {verdict!r} although the evidence is {outcome_name!s}; nothing can be "
            f"judged by it: judge anew"
        )


def article_scores(data: AuditData) -> Rows:
    """A row for each article and tier.

    ``outcome`` is null where no evidence was looked for, ``usable`` where that is not known (or
    fetching failed). ``n_s, n_r, n_u, not_adjudicated`` are null without usable evidence and where
    extraction failed.
    """
    counted: defaultdict[tuple[int, str], Counter[str]] = defaultdict(Counter)
    for claim in data.claims:
        for tier in data.tiers:
            counted[claim["subject_id"], tier][
                data.verdicts.get((claim["claim_id"], tier), NOT_ADJUDICATED)
            ] += 1
    return [
        _article_row(
            row, tier, data.outcomes.get((row["subject_id"], tier)), counted[row["subject_id"], tier]
        )
        for row in data.articles
        for tier in data.tiers
    ]


def _article_row(article: Row, tier: str, outcome: Outcome | None, counted: Counter[str]) -> Row:
    usable = None if outcome in (None, Outcome.FETCH_FAILED) else outcome in USABLE
    row = {**article, "tier": tier, "outcome": outcome and str(outcome), "usable": usable}
    judged = bool(usable) and article["claims"] is not None
    names = dict(zip(("n_s", "n_r", "n_u", NOT_ADJUDICATED), (*LABELS, NOT_ADJUDICATED), strict=True))
    row |= {name: counted[verdict] if judged else None for name, verdict in names.items()}
    return row | (shares(row["n_s"], row["n_r"], row["n_u"]) if judged else dict.fromkeys(SHARES))


def shares(n_s: int, n_r: int, n_u: int) -> dict[str, float | None]:
    """Precision, true, false and unverifiable share (paper, section 4.2); null where there is
    nothing to divide by.
    """
    n = n_s + n_r + n_u
    return {
        "precision": n_s / (n_s + n_r) if n_s + n_r else None,
        "true": n_s / n if n else None,
        "false": n_r / n if n else None,
        "unverifiable": n_u / n if n else None,
    }


@dataclass(frozen=True)
class Macro:
    """Mean over the n articles that define a value, sample standard deviation, 95% percentile
    bootstrap interval.
    """

    mean: float | None
    sd: float | None
    n: int
    low: float | None
    high: float | None

    def columns(self, name: str) -> Row:
        """As columns of a row: ``name``, ``name_sd``, ``name_n``, ``name_low``, ``name_high``."""
        return {name: self.mean, **{f"{name}_{k}": getattr(self, k) for k in ("sd", "n", "low", "high")}}


def macro(values: Iterable[float | None], seed: int) -> Macro:
    """The macro average of articles' values; nulls are left out. Spread and interval need two
    values.

    The interval resamples articles (2,000 times, percentile method, the same for the same values
    and seed).
    """
    import numpy as np
    from scipy import stats

    known = np.array([v for v in values if v is not None], dtype=float)
    if not known.size:
        return Macro(None, None, 0, None, None)
    if known.size == 1:
        return Macro(float(known[0]), None, 1, None, None)
    # A batch bounds the memory of large samples: resamples x articles.
    batch = max(1, min(RESAMPLES, 4_000_000 // known.size))
    drawn = stats.bootstrap(
        (known,),
        np.mean,
        n_resamples=RESAMPLES,
        batch=batch,
        method="percentile",
        rng=np.random.default_rng(seed),
    )
    low, high = (float(v) for v in drawn.confidence_interval)
    return Macro(float(known.mean()), float(known.std(ddof=1)), int(known.size), low, high)


def wilson(part: int, whole: int) -> tuple[float, float] | None:
    """Wilson's 95% interval of a proportion; null where there is nothing to divide by."""
    from scipy import stats

    if not whole:
        return None
    interval = stats.binomtest(part, whole).proportion_ci(confidence_level=0.95, method="wilson")
    return float(interval.low), float(interval.high)


def summaries(scores: Rows, by: Sequence[str], constants: Mapping[str, Any], seed: int) -> Rows:
    """A row for each group of article scores; groups by ``by`` out of ``hop`` and ``sample``, and
    always by tier.

    By ``sample``, an article counts in every sample it belongs to; else once, and samples that were
    drawn in different ways are
    mixed: such a row tells of the audit, not of the encyclopedia. ``constants``: what all the
    articles have in common (model, persona, topic, ...). Columns: see :func:`_summary`.
    """
    groups: defaultdict[tuple[Any, ...], Rows] = defaultdict(list)
    for row in scores:
        for sample in row["strata"] if "sample" in by else [None]:
            groups[sample, row["hop"] if "hop" in by else None, row["tier"]].append(row)
    by_name = "+".join([*(b for b in ("sample", "hop") if b in by), "tier"])
    return [
        {
            **constants,
            "by": by_name,
            "sample": sample,
            "hop": hop,
            "tier": tier,
            **_summary(groups[sample, hop, tier], seed),
        }
        for sample, hop, tier in sorted(groups, key=_order)
    ]


def frontier(scores: Rows, sample: str, constants: Mapping[str, Any], seed: int) -> Rows:
    """The web tier's row for the sample's articles that are known to be absent from Wikipedia
    (paper, table 6); or none.

    Disambiguation pages and impossible titles count as absent; articles for which fetching failed
    do not.
    """
    absent = {row["subject_id"] for row in scores if row["tier"] == "wikipedia" and row["usable"] is False}
    rows = [r for r in scores if r["tier"] == "web" and sample in r["strata"] and r["subject_id"] in absent]
    if not rows:
        return []
    return [
        {**constants, "by": "frontier", "sample": sample, "hop": None, "tier": "web", **_summary(rows, seed)}
    ]


def _order(key: tuple[Any, ...]) -> tuple[Any, ...]:
    sample, hop, tier = key
    return (sample or "", hop is not None, hop or 0, TIERS.index(tier))


def _summary(rows: Rows, seed: int) -> Row:
    """Counts and macro averages of one group in one tier.

    ``coverage`` = ``found`` / (``articles`` - ``not_looked_up`` - ``fetch_failed``), with Wilson's
    95% interval. ``claims``: of all the group's articles; ``claims_with_evidence`` = ``n_s + n_r +
    n_u + not_adjudicated``.
    """
    usable = sum(r["usable"] is True for r in rows)
    known = sum(r["usable"] is not None for r in rows)
    interval = wilson(usable, known) or (None, None)
    sums = {
        name: sum(r[name] or 0 for r in rows) for name in ("claims", "n_s", "n_r", "n_u", NOT_ADJUDICATED)
    }
    words = [r["words"] for r in rows]
    summary = {
        "articles": len(rows),
        "extraction_failed": sum(r["claims_error"] is not None for r in rows),
        NOT_LOOKED_UP: sum(r["outcome"] is None for r in rows),
        "fetch_failed": sum(r["outcome"] == Outcome.FETCH_FAILED for r in rows),
        "found": usable,
        "coverage": usable / known if known else None,
        "coverage_low": interval[0],
        "coverage_high": interval[1],
        "claims": sums.pop("claims"),
        "claims_with_evidence": sum(sums.values()),
        **sums,
        "words_mean": statistics.fmean(words),
        "words_median": float(statistics.median(words)),
    }
    for name in SHARES:
        summary |= macro((r[name] for r in rows), seed).columns(name)
    return summary


def funnel(scores: Rows, constants: Mapping[str, Any]) -> Rows:
    """What became of every sampled article, a row a tier and each number the sum of the next ones.

    ``sampled = extraction_failed + not_extracted + without_claims + with_claims``; ``with_claims``
    = the sum over outcomes, ``not_looked_up`` among them; those of usable outcomes =
    ``judged_in_full + judged_in_part + not_judged``.
    """
    tiers = [tier for tier in TIERS if any(r["tier"] == tier for r in scores)]
    return [{**constants, "tier": tier, **_fates([r for r in scores if r["tier"] == tier])} for tier in tiers]


def _fates(rows: Rows) -> Row:
    extraction = Counter(_extraction(r) for r in rows)
    carried = [r for r in rows if r["claims"]]
    outcomes = Counter(r["outcome"] or NOT_LOOKED_UP for r in carried)
    judging = Counter(_judging(r) for r in carried if r["usable"])
    return {
        "sampled": len(rows),
        **{
            stage: extraction[stage]
            for stage in ("extraction_failed", "not_extracted", "without_claims", "with_claims")
        },
        **{name: outcomes[name] for name in (*map(str, Outcome), NOT_LOOKED_UP)},
        **{stage: judging[stage] for stage in ("judged_in_full", "judged_in_part", "not_judged")},
    }


def _extraction(row: Row) -> str:
    if row["claims"] is None:
        return "extraction_failed" if row["claims_error"] is not None else "not_extracted"
    return "with_claims" if row["claims"] else "without_claims"


def _judging(row: Row) -> str:
    if row[NOT_ADJUDICATED] == 0:
        return "judged_in_full"
    return "judged_in_part" if row[NOT_ADJUDICATED] < row["claims"] else "not_judged"


def audit_metrics(data: AuditData, constants: Mapping[str, Any], seed: int) -> dict[str, Rows]:
    """All of it. Name -> rows: ``articles``, ``summaries`` (every grouping, told apart by ``by``)
    and ``funnel``.
    """
    scores = article_scores(data)
    groupings: list[tuple[str, ...]] = [(), ("hop",), ("sample",), ("sample", "hop")]
    rows = [row for by in groupings for row in summaries(scores, by, constants, seed)]
    return {
        "articles": [{**constants, **row} for row in scores],
        "summaries": rows + frontier(scores, "random", constants, seed),
        "funnel": funnel(scores, constants),
    }
