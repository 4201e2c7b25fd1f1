"""What the funnel's tables are made of, counted column by column: no row of a run becomes a Python
object.

Where a subject was expanded anew after a cap was raised, each of its links is one candidate: what
the first visit decided counts, and of those that a cap had ended the visit that decided, or else
the last one. Seeds are no candidates.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from llmpedia.errors import InputError
from llmpedia.store.run_folder import RunFolder
from llmpedia.tables import CAP_FATES, Fate

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

FATES = tuple(Fate)
NER_DROPS = (Fate.NER_REJECTED, Fate.NER_LOW_CONFIDENCE, Fate.NER_OMITTED, Fate.STAGE_ERROR)
SIMILARITY_DROPS = (Fate.DUPLICATE, Fate.WAVE_DUPLICATE, Fate.ARBITRATION_FAILED)
STAGES = ("pre_ner", "after_canonical", "ner_input", "after_ner", "after_similarity", "queued")
SURVIVALS = {
    "canonical": ("after_canonical", "pre_ner"),
    "ner": ("after_ner", "ner_input"),
    "similarity": ("after_similarity", "after_ner"),
    "overall": ("queued", "pre_ner"),
}
"""Survival of a stage -> what leaves it, what enters it."""
TOP = 30


@dataclass(frozen=True)
class Funnel:
    """Candidates that are left after each stage, of a run or as published."""

    articles: int
    links: int
    pre_ner: int
    after_canonical: int
    after_ner: int
    after_similarity: int
    queued: int
    capped_before_ner: int = 0
    known_after_ner: int = 0

    @property
    def ner_input(self) -> int:
        """What NER was asked about."""
        return self.after_canonical - self.capped_before_ner


@dataclass(frozen=True)
class FunnelCounts:
    """One pass over a run.

    ``cells``: candidates by hop of the child, fate (as in ``FATES``) and whether NER was asked (0,
    1). ``entities, written, errored, expanded``: by hop. ``aliases``: by entity. ``top``:
    (entity_id, name, aliases), most first. ``visited``: (hop, candidates after each of ``STAGES``)
    a visited subject, ``full``: whether it was expanded.
    """

    name: str
    articles: int
    links: int
    cells: Ints
    entities: Ints
    written: Ints
    errored: Ints
    expanded: Ints
    aliases: Ints
    top: list[tuple[int, str, int]]
    visited: tuple[Ints, Ints]
    full: npt.NDArray[np.bool_]

    def of(self, *fates: Fate, asked: bool | None = None) -> int:
        """Candidates with one of the fates, at all hops; ``asked``: only those that NER was, or was
        not, asked about.
        """
        cells = self.cells[:, [FATES.index(f) for f in fates]]
        return int((cells if asked is None else cells[:, :, int(asked)]).sum())

    def funnel(self) -> Funnel:
        """All hops together."""
        left = dict(
            zip(
                STAGES, map(int, self.cells.reshape(-1, 2 * len(FATES)).sum(axis=0) @ _weights()), strict=True
            )
        )
        del left["ner_input"]
        capped = self.of(*CAP_FATES, asked=False)
        late = self.of(Fate.KNOWN, asked=True)
        return Funnel(self.articles, self.links, **left, capped_before_ner=capped, known_after_ner=late)


def passes(fate: Fate, asked: bool) -> list[bool]:
    """Whether a candidate that ended so is left after each of ``STAGES``; each stage is the one
    before less named drops.
    """
    pre_ner = fate not in (Fate.SELF_OR_LOOP, Fate.LOW_LINK_SCORE)
    after_canonical = pre_ner and not (fate == Fate.KNOWN and not asked)
    ner_input = after_canonical and not (fate in CAP_FATES and not asked)
    after_ner = ner_input and fate not in NER_DROPS
    after_similarity = after_ner and fate not in (Fate.KNOWN, *SIMILARITY_DROPS)
    return [pre_ner, after_canonical, ner_input, after_ner, after_similarity, fate == Fate.QUEUED]


def _weights() -> Ints:
    return np.array([passes(fate, asked) for fate in FATES for asked in (False, True)], np.int64)


@dataclass(frozen=True)
class _Visits:
    """Of each subject its last visit; ``wave`` is -1 where it was never visited. ``several``: it
    was visited before.
    """

    wave: Ints
    several: npt.NDArray[np.bool_]
    hop: Ints
    expanded: npt.NDArray[np.bool_]
    written: npt.NDArray[np.bool_]


def count(run: RunFolder, name: str) -> FunnelCounts:
    """Everything the tables need, wave by wave.

    Raises:
        InputError: a candidate has a fate that this version does not know.
    """
    entities = run.read("entities", columns=["hop"])
    hops = _numpy(entities["hop"])
    visits = _last_visits(run, len(hops))
    cells, visited = _candidates(run, visits, 1 + int(max(hops, default=0)))
    seen = visits.wave >= 0
    most = cells.shape[0]
    links = run.read("articles", columns=["links"])["links"]
    aliases = np.bincount(
        _numpy(run.read("aliases", columns=["entity_id"])["entity_id"]), minlength=len(hops)
    )
    parents = visited[0]
    return FunnelCounts(
        name=name,
        articles=len(links),
        links=pc.sum(links).as_py() or 0,
        cells=cells,
        entities=np.bincount(hops, minlength=most),
        written=np.bincount(visits.hop[visits.written], minlength=most),
        errored=np.bincount(visits.hop[seen & ~visits.written], minlength=most),
        expanded=np.bincount(visits.hop[visits.expanded], minlength=most),
        aliases=aliases,
        top=_top(run, aliases),
        visited=(visits.hop[parents], visited[1]),
        full=visits.expanded[parents],
    )


def _last_visits(run: RunFolder, entities: int) -> _Visits:
    rows = run.read("subjects", columns=["subject_id", "hop", "error", "expanded"])
    ids = _numpy(rows["subject_id"])
    several = np.bincount(ids, minlength=entities) > 1
    visits = _Visits(
        np.full(entities, -1),
        several,
        np.zeros(entities, int),
        np.zeros(entities, bool),
        np.zeros(entities, bool),
    )
    # In order of commits, and of several values for one place the last one stays.
    visits.wave[ids] = _numpy(rows["wave"])
    visits.hop[ids] = _numpy(rows["hop"])
    visits.expanded[ids] = rows["expanded"].to_numpy()
    visits.written[ids] = pc.is_null(rows["error"]).to_numpy()
    return visits


def _candidates(run: RunFolder, visits: _Visits, hops: int) -> tuple[Ints, tuple[Ints, Ints]]:
    """Cells, and what is left after each stage of each visited subject that has candidates."""
    width = 2 * len(FATES)
    weights = _weights()
    cells = np.zeros((hops + 1, width), np.int64)
    subjects = [np.zeros(0, np.int64)]
    left = [np.zeros((0, len(STAGES)), np.int64)]
    for parents, codes in _decided(run, visits):
        ids, place = np.unique(parents, return_inverse=True)
        of_subject = np.bincount(place * width + codes, minlength=len(ids) * width).reshape(len(ids), width)
        np.add.at(cells, visits.hop[ids] + 1, of_subject)
        subjects.append(ids)
        left.append(of_subject @ weights)
    return cells.reshape(-1, len(FATES), 2), (np.concatenate(subjects), np.concatenate(left))


def _decided(run: RunFolder, visits: _Visits) -> Iterator[tuple[Ints, Ints]]:
    """(parents, codes) of the candidates, each once: a wave's own ones, then those of subjects that
    several waves visited.
    """
    again = []
    for wave in range(run.last_wave + 1):
        rows = _coded(run, wave)
        several = visits.several[_numpy(rows["parent_id"])]
        once = rows.filter(pa.array(~several))
        yield _numpy(once["parent_id"]), _numpy(once["code"])
        again.append(rows.filter(pa.array(several)))
    if again:
        yield _first_decided(pa.concat_tables(again))


def _first_decided(rows: pa.Table) -> tuple[Ints, Ints]:
    """Of each parent's key the first row that no cap has ended, else its last one; ``rows``: in
    order of commits.
    """
    parents = _numpy(rows["parent_id"])
    codes = _numpy(rows["code"])
    n = rows.num_rows
    order = np.arange(n)
    capped = np.isin(codes // 2, [FATES.index(fate) for fate in CAP_FATES])
    ranked = rows.select(["parent_id", "key"]).append_column(
        "rank", pa.array(np.where(capped, 2 * n - order, order))
    )
    best = _numpy(
        ranked.group_by(["parent_id", "key"], use_threads=False).aggregate([("rank", "min")])["rank_min"]
    )
    chosen = np.where(best < n, best, 2 * n - best)
    return parents[chosen], codes[chosen]


def _coded(run: RunFolder, wave: int) -> pa.Table:
    """``parent_id``, ``key`` and ``code`` (2 x fate + whether NER was asked) of a wave's candidates
    that have a parent.
    """
    known = pa.array([str(f) for f in FATES])
    rows = run.read("candidates", [wave], ["parent_id", "key", "fate", "ner_completion"])
    rows = rows.filter(pc.is_valid(rows["parent_id"]))
    fates = pc.index_in(rows["fate"], value_set=known)
    if fates.null_count:
        strange = rows["fate"].filter(pc.is_null(fates))[0].as_py()
        raise InputError(
            f"{run.uri}: wave {wave}: a candidate has the fate {strange!r}; use the version that wrote it"
        )
    codes = 2 * _numpy(fates) + pc.is_valid(rows["ner_completion"]).to_numpy()
    return rows.select(["parent_id", "key"]).append_column("code", pa.array(codes))


def _top(run: RunFolder, aliases: Ints) -> list[tuple[int, str, int]]:
    """The entities with most aliases; of several with as many, the earliest."""
    order = np.lexsort((np.arange(len(aliases)), -aliases))[:TOP]
    ids = [int(n) for n in order if aliases[n]]
    entities = run.read("entities", columns=["entity_id", "name"]) if ids else None
    if entities is None:
        return []
    wanted = entities.filter(pc.is_in(entities["entity_id"], pa.array(ids, pa.int64())))
    names = dict(zip(wanted["entity_id"].to_pylist(), wanted["name"].to_pylist(), strict=True))
    return [(n, names[n], int(aliases[n])) for n in ids]


def _numpy(column: Any) -> Ints:
    numbers: Ints = column.to_numpy().astype(np.int64)
    return numbers


@dataclass(frozen=True)
class Spread:
    """Mean and sample standard deviation of a share over the ``n`` subjects that define it, in
    percent.
    """

    n: int
    mean: float | None
    sd: float | None


def spread_by_hop(counts: FunnelCounts, survival: str) -> list[Spread]:
    """Of each hop of the parent: a stage's survival over expanded subjects (paper, appendix H.5)."""
    hops, left = counts.visited
    out, into = (left[:, STAGES.index(stage)] for stage in SURVIVALS[survival])
    kept = counts.full & (into > 0)
    hops = hops[kept]
    shares = 100 * out[kept] / into[kept]
    n = np.bincount(hops, minlength=len(counts.cells))
    mean = np.bincount(hops, weights=shares, minlength=len(n)) / np.maximum(n, 1)
    squares = np.bincount(hops, weights=(shares - mean[hops]) ** 2, minlength=len(n))
    return [
        Spread(int(k), float(m) if k else None, float(np.sqrt(s / (k - 1))) if k > 1 else None)
        for k, m, s in zip(n, mean, squares, strict=True)
    ]
