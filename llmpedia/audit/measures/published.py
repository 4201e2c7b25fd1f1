"""Scores of earlier programs, computed from our verdicts, so that numbers can be put beside theirs.

FActScore (Min et al. 2023, arXiv 2305.14251): share of facts that are supported; here insufficient
counts as not supported. The length penalty is the released program's (its ``gamma``), not the
paper's. VeriScore (Song et al. 2024, arXiv 2406.19276): F1@K of precision S/N and recall min(S/K,
1); 0 where nothing is supported. Both judge only articles with usable evidence. Claims that were
not adjudicated are outside of N, so S is then a lower bound; every row shows how many there are.
"""

import math
import statistics
from collections.abc import Mapping
from typing import Any

from llmpedia.audit.measures.verdicts import Row, Rows, macro
from llmpedia.audit.stages import NOT_ADJUDICATED
from llmpedia.errors import InputError

GAMMA = 10
"""Facts below which the released FActScore program (``FactScorer.get_score``) penalises a short
text.
"""


def factscore(supported: int, judged: int) -> float | None:
    """Supported / judged facts, from 0 to 1; null where none was judged (the program leaves
    abstentions out).
    """
    return supported / judged if judged else None


def length_penalty(facts: int, gamma: int = GAMMA) -> float | None:
    """exp(1 - gamma / facts) below gamma facts, else 1; null where there is no fact, as nothing is
    there to be penalised.
    """
    if not facts:
        return None
    return 1.0 if facts >= gamma else math.exp(1 - gamma / facts)


def f1_at_k(supported: int, judged: int, k: int) -> float:
    """VeriScore's F1@K of one text: 2PR / (P + R) with P = supported / judged and R = min(supported
    / k, 1); from 0 to 1.

    Raises:
        InputError: k is not positive, or more is supported than was judged.
    """
    if k < 1 or supported > judged:
        raise InputError(
            f"F1@K of {supported} supported of {judged} claims with K = {k}: must be supported <= "
            f"claims and K >= 1"
        )
    if not supported:
        return 0.0
    precision = supported / judged
    recall = min(supported / k, 1.0)
    return 2 * precision * recall / (precision + recall)


def median_claims(scores: Rows) -> int | None:
    """VeriScore's K: the median number of claims of an article, each article once, the higher of
    two middle values.

    Texts that are to be compared (of several models) need one K over all of them: scores of several
    audits are told apart by ``audit``. Null where no article has a claim: K would be 0, and recall
    undefined.
    """
    counts = {
        (row.get("audit"), row["subject_id"]): row["claims"] for row in scores if row["claims"] is not None
    }
    return (statistics.median_high(counts.values()) or None) if counts else None


def published_scores(scores: Rows, k: int | None) -> Rows:
    """A row for each article and tier with usable evidence; ``scores``: of
    :func:`~llmpedia.audit.measures.verdicts.article_scores`.

    ``k``: VeriScore's K; null where it is not known, and F1 with it. An article from which no claim
    came has F1 0 and no FActScore; one with claims of which none was adjudicated has neither. The
    penalty goes by the claims of the article, adjudicated or not, since it is about the text's
    length and not about the judge.
    """
    return [_published_row(row, k) for row in scores if row["usable"] and row["claims"] is not None]


def _published_row(row: Row, k: int | None) -> Row:
    judged = row["n_s"] + row["n_r"] + row["n_u"]
    score = factscore(row["n_s"], judged)
    penalty = length_penalty(row["claims"])
    unknown = k is None or (row["claims"] and not judged)
    return {
        **{c: row[c] for c in ("subject_id", "name", "strata", "tier", "claims", NOT_ADJUDICATED)},
        "factscore": score,
        "factscore_penalised": None if score is None or penalty is None else score * penalty,
        "veriscore_f1": None if unknown or k is None else f1_at_k(row["n_s"], judged, k),
    }


def published_summaries(scores: Rows, constants: Mapping[str, Any], seed: int, k: int | None = None) -> Rows:
    """Macro averages of both scores for each sample and tier; ``k``: see :func:`median_claims`,
    which is taken where null.
    """
    k = k or median_claims(scores)
    rows = published_scores(scores, k)
    groups = sorted({(sample, row["tier"]) for row in rows for sample in row["strata"]})
    return [
        {
            **constants,
            "sample": sample,
            "tier": tier,
            "k": k,
            **_summary([r for r in rows if _is_in(r, sample, tier)], seed),
        }
        for sample, tier in groups
    ]


def _is_in(row: Row, sample: str, tier: str) -> bool:
    return sample in row["strata"] and row["tier"] == tier


def _summary(rows: Rows, seed: int) -> Row:
    summary = {"articles": len(rows), **{c: sum(r[c] for r in rows) for c in ("claims", NOT_ADJUDICATED)}}
    for name in ("factscore", "factscore_penalised", "veriscore_f1"):
        summary |= macro((r[name] for r in rows), seed).columns(name)
    return summary
