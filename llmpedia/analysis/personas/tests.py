"""Articles on the same subjects under different personas, and whether their framing differs
(LLMpedia paper, appendix M).

A cell is what one model wrote on one topic: its runs differ in the persona and in nothing that
shapes an article. Whatever the order in which runs are given and rows are read, the same subjects
are drawn and the same numbers come out.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

from llmpedia.analysis.output.formats import TableRow, TableRows
from llmpedia.analysis.personas.framing import UNIT, Lexicons, Topic, Words, shown_rate
from llmpedia.analysis.personas.stylometry import Style, load_style_words
from llmpedia.entities.keys import canonical_key
from llmpedia.store.run_folder import RunFolder

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

Subjects = dict[str, tuple[int, int]]
"""Canonical key of a subject with an article -> (wave, subject_id)."""

SUBJECTS = 30
SEED = 42
ALPHA = 0.05
_RESAMPLES = 10_000
# pairs; the bounds of scipy's own choice
_LARGEST_EXACT = 50
_LARGEST_PERMUTED = 13
_DIGITS = 12  # of a p value: what is beyond may differ between builds of the mathematical library


@dataclass(frozen=True, order=True)
class TopicSetting:
    """What the runs of a cell have in common."""

    model: str
    topic: str
    prompting: str
    self_grounding: bool
    reasoning: str

    def label(self, others: Sequence["TopicSetting"]) -> str:
        """The model, with the settings by which it is told apart from others of the same model and
        topic.
        """
        same = [s for s in others if (s.model, s.topic) == (self.model, self.topic)]
        labels = {
            "prompting": self.prompting,
            "self_grounding": "self-grounded" if self.self_grounding else "not self-grounded",
            "reasoning": f"reasoning {self.reasoning or 'not set'}",
        }
        differing = [text for name, text in labels.items() if len({getattr(s, name) for s in same}) > 1]
        return f"{self.model} ({', '.join(differing)})" if differing else self.model


@dataclass(frozen=True)
class ScoredArticle:
    """An article's words, its rate of each dimension (in millionths of a hit per 1,000 tokens) and
    its style.
    """

    words: Words
    rates: tuple[int, ...]
    style: Style


@dataclass(frozen=True)
class TopicCell:
    """One model on one topic. ``articles``: persona -> its articles on ``subjects`` (canonical
    keys), in their order.

    ``common``: subjects that all personas have an article on; ``drawn``: of them; ``wordless``:
    drawn, and left out since one of the articles has no word.
    """

    model: str
    topic: Topic
    subjects: tuple[str, ...]
    articles: Mapping[str, tuple[ScoredArticle, ...]]
    common: int
    drawn: int
    wordless: int

    @property
    def personas(self) -> list[str]:
        """In order; every pair of them is compared."""
        return sorted(self.articles)

    @property
    def names(self) -> TableRow:
        """The columns that name it."""
        return {"family": self.topic.family, "model": self.model, "topic": self.topic.name}


def grouped(runs: Sequence[RunFolder]) -> tuple[dict[TopicSetting, dict[str, RunFolder]], TableRows]:
    """Runs by setting and persona, in order; and a row for each that is not used, since another has
    its setting and persona.
    """
    by_setting: defaultdict[TopicSetting, dict[str, RunFolder]] = defaultdict(dict)
    missing: TableRows = []
    for run in sorted(runs, key=lambda run: run.uri.rstrip("/")):
        setting, persona = _setting(run)
        if persona is None:  # an imported encyclopedia has none
            continue
        taken = by_setting[setting].setdefault(persona, run)
        if taken is not run:
            reason = (
                f"{taken.uri} has the same model, topic, persona and settings, and is used; report them apart"
            )
            row = {"table": "persona_cells", "what": run.uri, "reason": reason}
            missing.append({**row, "command": f"llmpedia report {run.uri} OTHER_PERSONAS --out OTHER_DIR"})
    return {setting: dict(sorted(by_setting[setting].items())) for setting in sorted(by_setting)}, missing


def _setting(run: RunFolder) -> tuple[TopicSetting, str | None]:
    description = run.description()
    identity = description["identity"]
    asked = identity.get("stages", {}).get("article", {})
    section = identity["run"]
    seeds = description["seeds"]
    topic = section["root_topic"] or (
        f"seed {seeds[0]}" if len(seeds) == 1 else f"{len(seeds)} titles from {seeds[0]}"
    )
    reasoning = asked.get("reasoning_effort") or ""
    model = asked.get("model") or identity["engine"]["model"]
    return TopicSetting(model, topic, section["prompting"], section["self_grounding"], reasoning), section[
        "persona"
    ]


def cells_of(
    groups: Mapping[TopicSetting, Mapping[str, RunFolder]], lexicons: Lexicons
) -> tuple[list[TopicCell], TableRows]:
    """A cell for each setting with two personas or more and a common subject; and a row for each
    that has none.
    """
    cells: list[TopicCell] = []
    missing: TableRows = []
    for setting, runs in groups.items():
        model = setting.label(list(groups))
        topic = lexicons.topic(setting.topic)
        cell = _cell(model, topic, runs, lexicons) if len(runs) > 1 else None
        if cell is not None and cell.subjects:
            cells.append(cell)
            continue
        names = ", ".join(runs)
        reason = (
            f"only the persona {names} is here, and a comparison takes two"
            if cell is None
            else _why_empty(cell, names)
        )
        command = {"command": grid_command(topic.config)} if topic.config else {}
        missing.append(
            {"table": "persona_cells", "what": f"{model}, {topic.name}", "reason": reason, **command}
        )
    return sorted(cells, key=lambda cell: (lexicons.place(cell.topic.name), cell.model)), missing


def grid_command(config: str) -> str:
    """What makes the runs of a topic; audits are not needed here."""
    return f"llmpedia grid {config} --out runs/topics --set audit=null"


def _why_empty(cell: TopicCell, personas: str) -> str:
    if cell.common:
        return f"of the subjects drawn, none has words in its articles under all of {personas}"
    return f"no subject has an article under all of {personas}"


def _cell(model: str, topic: Topic, runs: Mapping[str, RunFolder], lexicons: Lexicons) -> TopicCell:
    where = {persona: _subjects(run) for persona, run in runs.items()}
    common = sorted(set.intersection(*(set(subjects) for subjects in where.values())))
    drawn = sampled(common)
    texts = {
        persona: _wikitexts(run, [where[persona][key] for key in drawn]) for persona, run in runs.items()
    }
    words = {persona: [Words.of(text) for text in of] for persona, of in texts.items()}
    kept = [n for n in range(len(drawn)) if all(of[n].tokens for of in words.values())]
    lists = load_style_words()
    articles = {
        persona: tuple(
            ScoredArticle(
                w, tuple(w.rate(d.words) for d in lexicons.dimensions), Style.of(texts[persona][n], w, lists)
            )
            for n in kept
            for w in (words[persona][n],)
        )
        for persona in runs
    }
    return TopicCell(
        model, topic, tuple(drawn[n] for n in kept), articles, len(common), len(drawn), len(drawn) - len(kept)
    )


def _subjects(run: RunFolder) -> Subjects:
    rows = run.read("articles", columns=["subject_id", "name"])
    subjects: Subjects = {}
    for n, name, wave in zip(
        rows["subject_id"].to_pylist(), rows["name"].to_pylist(), rows["wave"].to_pylist(), strict=True
    ):
        subjects.setdefault(canonical_key(name), (wave, n))
    return subjects


def sampled(keys: Sequence[str]) -> list[str]:
    """30 of the keys, which are sorted, in their order; all of them where there are fewer."""
    import numpy as np

    if len(keys) <= SUBJECTS:
        return list(keys)
    return [
        keys[n]
        for n in sorted(np.random.default_rng(SEED).choice(len(keys), SUBJECTS, replace=False).tolist())
    ]


def _wikitexts(run: RunFolder, places: Sequence[tuple[int, int]]) -> list[str]:
    """The texts of the articles at (wave, subject_id); no other wave is read."""
    wanted = set(places)
    texts = {}
    for wave in sorted({wave for wave, _ in places}):
        rows = run.read("articles", [wave], ["subject_id", "wikitext"])
        for n, text in zip(rows["subject_id"].to_pylist(), rows["wikitext"].to_pylist(), strict=True):
            if (wave, n) in wanted:
                texts[wave, n] = text
    return [texts[place] for place in places]


def framing_tests(cells: Sequence[TopicCell], lexicons: Lexicons) -> TableRows:
    """A row a cell, pair of personas and dimension, corrected over all tests of its family
    (Bonferroni).

    ``delta``: mean of persona a less persona b in hits per 1,000 tokens, with a percentile interval
    of 10,000 bootstrap resamples of the subjects. ``p``: Wilcoxon's signed-rank test, two-sided.
    ``rank_biserial``: above 0 where persona a has more.
    ``nonzero``: pairs that differ. ``attainable``: whether so many could have been significant had
    all differed to one side.
    """
    tested = [
        row
        for cell in cells
        for pair in combinations(cell.personas, 2)
        for row in _pair_tests(cell, pair, lexicons)
    ]
    for family in dict.fromkeys(row["family"] for row in tested):
        correct([row for row in tested if row["family"] == family])
    return tested


def _pair_tests(cell: TopicCell, pair: tuple[str, str], lexicons: Lexicons) -> TableRows:
    import numpy as np

    a, b = (
        np.array([article.rates for article in cell.articles[persona]], dtype=np.int64) for persona in pair
    )
    differences = a - b
    n = len(a)
    low, high = _intervals(differences)
    relevant = set(lexicons.relevant(cell.topic))
    return [
        {
            **cell.names,
            "persona_a": pair[0],
            "persona_b": pair[1],
            "dimension": dimension.name,
            "relevant": place in relevant,
            "n": n,
            "mean_a": shown_rate(int(a[:, place].sum()), n),
            "mean_b": shown_rate(int(b[:, place].sum()), n),
            "delta": shown_rate(int(differences[:, place].sum()), n),
            "delta_low": low[place],
            "delta_high": high[place],
            **signed_rank(differences[:, place].tolist()),
        }
        for place, dimension in enumerate(lexicons.dimensions)
    ]


def _intervals(differences: "Array") -> tuple[list[float | None], list[float | None]]:
    """Of the mean of each column. Sums are of whole numbers, so they are exact; a single row has no
    interval.
    """
    import numpy as np

    n, columns = differences.shape
    if n < 2:
        return [None] * columns, [None] * columns
    drawn = np.random.default_rng(SEED).multinomial(n, np.full(n, 1 / n), _RESAMPLES)
    low, high = np.percentile(drawn @ differences, [2.5, 97.5], axis=0) / (n * UNIT)
    return [round(float(x), 4) for x in low], [round(float(x), 4) for x in high]


def signed_rank(differences: Sequence[int]) -> TableRow:
    """Wilcoxon's signed-rank test of whole numbers; zeros are dropped (``zero_method="wilcox"``),
    no continuity correction.

    ``method`` is scipy's own choice, made here so that it can be told: exact without zeros and
    ties, up to 50 pairs; else all changes of sign up to 13 pairs; else the normal approximation
    with its correction for ties. Where all are 0, p is 1 and r 0.
    ``least_p``: had all differed to one side.
    """
    from scipy import stats

    nonzero = [d for d in differences if d]
    if not nonzero:
        return {"nonzero": 0, "rank_biserial": 0.0, "method": "all zero", "p": 1.0, "least_p": 1.0}
    plain = len(set(map(abs, nonzero))) == len(nonzero) == len(differences)
    ranks = stats.rankdata([abs(d) for d in nonzero]).tolist()
    signed = sum(rank if d > 0 else -rank for rank, d in zip(ranks, nonzero, strict=True))
    tested = {"nonzero": len(nonzero), "rank_biserial": round(signed / sum(ranks), 4)}
    if plain and len(differences) <= _LARGEST_EXACT:
        p = _wilcoxon(differences, "exact")
        least = math.ldexp(1.0, 1 - len(nonzero))
        return tested | {"method": "exact", "p": p, "least_p": least}
    if len(differences) <= _LARGEST_PERMUTED:
        p = _all_signs([round(2 * rank) for rank in ranks], round(2 * signed))
        least = math.ldexp(1.0, 1 - len(nonzero))
        return tested | {"method": "permutation", "p": p, "least_p": least}
    p, least = (_wilcoxon(of, "asymptotic") for of in (differences, [abs(d) for d in differences]))
    return tested | {"method": "asymptotic", "p": p, "least_p": least}


def _wilcoxon(differences: Sequence[int], method: str) -> float:
    from scipy import stats

    result = stats.wilcoxon(
        [float(d) for d in differences], zero_method="wilcox", correction=False, method=method
    )
    return float(f"{result.pvalue:.{_DIGITS}g}")


def _all_signs(doubled: Sequence[int], signed: int) -> float:
    """scipy's ``PermutationMethod`` without its seconds a test: the share of all changes of sign
    that are as extreme, counted.

    ``doubled``: ranks times 2, which are whole where ties share one; ``signed``: their sum with the
    signs seen.
    """
    sums = Counter({0: 1})
    for rank in doubled:
        turned: Counter[int] = Counter()
        for total, count in sums.items():
            turned[total + rank] += count
            turned[total - rank] += count
        sums = turned
    as_extreme = sum(count for total, count in sums.items() if total >= abs(signed))
    return min(1.0, math.ldexp(as_extreme, 1 - len(doubled)))


def correct(rows: TableRows) -> None:
    """Add what the tests of a family have in common, and what the correction makes of each."""
    from statsmodels.stats.multitest import multipletests

    significant, corrected, _, alpha = multipletests([row["p"] for row in rows], ALPHA, "bonferroni")
    for row, is_significant, p in zip(rows, significant, corrected, strict=True):
        row["p_bonferroni"] = float(f"{p:.{_DIGITS}g}")
        row["tests"] = len(rows)
        row["alpha"] = float(alpha)
        row["attainable"] = row.pop("least_p") <= alpha
        row["significant"] = bool(is_significant)
