"""A finished run against the planted truth. A pure function of the run folder and the world.

Definitions sense       the world entity a candidate means: what its name names; a bare homonym is
    read in the article that links it, as
                the model that wrote it links it.
    walk        ``entities`` of the run; ``visited``: those with a generate visit; ``waiting``:
                unvisited ones that a cap explains (deeper than caps.depth, or the cap of articles
                was reached).
    lost        unvisited entities that no cap explains, and those passed over: a wave that could
                see them (its screen holds commits up to the second before it) visited a later one.
                An unfinished run has all of its frontier lost.
    doubled     run entities beyond the first of one sense. ``strangers`` (names that the world does
    not know) are left out.
                ``doubled_bare``: those of bare homonyms, apart: a name that means two things is one
                entity by its key, whose article is about one of them, so the other is met again
                under its qualified name (paper, section 7).
    twice       subjects with more than one generate visit or article. unaccounted links of articles
    without a candidate, candidates without a link, candidates without a fate or whose counts
                differ from subjects.candidates or the manifests' fates: 0 if every drop is
                accounted for.
    dedup       over units: (canonical key, sense) of candidates that ended at an entity. Two units
                are the same if their senses are; the run says so if they ended at one entity. For
                each kind of unit (variant: of an entity that stands alone; sibling; qualified; bare
                homonym), pairs with at least one unit of the kind: precision = same and merged /
                merged, recall = same and merged / same, F1 their harmonic mean.
    NER         over candidates that NER was asked about. Positive: it names an entity other than
                the subject. Accepted: went on to similarity or a cap. Answers that never came
                (ner_omitted, stage_error) count as not accepted.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from llmpedia.audit.audit_folder import audited_run
from llmpedia.entities.keys import canonical_key
from llmpedia.rehearsal.world.model_profiles import Mind, Minds
from llmpedia.rehearsal.world.world import World
from llmpedia.store.run_folder import RunFolder
from llmpedia.tables import Fate
from llmpedia.wikitext import Article

_KINDS = {"plain": "variant", "sibling": "sibling", "qualified": "qualified homonym", "bare": "bare homonym"}
_NER_DROPS = frozenset({Fate.NER_REJECTED, Fate.NER_LOW_CONFIDENCE, Fate.NER_OMITTED, Fate.STAGE_ERROR})
_FATES = frozenset(str(f) for f in Fate)
_PLANNED_AHEAD = 2  # a wave is planned from the commits up to the second before it

Row = dict[str, Any]


@dataclass
class _Run:
    """What is read of a run, once."""

    names: list[str] = field(default_factory=list)
    entities: list[Row] = field(default_factory=list)
    visits: list[Row] = field(default_factory=list)
    articles: Counter[int] = field(default_factory=Counter)
    units: dict[tuple[str, int], int] = field(default_factory=dict)
    senses: dict[int, int] = field(default_factory=dict)
    fates: Counter[str] = field(default_factory=Counter)
    ner: Counter[tuple[bool, bool]] = field(default_factory=Counter)
    unaccounted: Counter[str] = field(default_factory=Counter)


def score(run: RunFolder, world: World) -> dict[str, Row]:
    """All figures: section -> name -> number. Reads a wave at a time; about 2 ms an article.

    Raises:
        InputError: a file of the run is missing or damaged.
    """
    read = _Run()
    mind = writer_of(run, world)
    for wave in range(run.last_wave + 1):
        new = run.read("entities", [wave], ["entity_id", "name", "hop"]).to_pylist()
        read.entities += new
        read.names += [row["name"] for row in new]
        _read_wave(run, mind, wave, read)
    facts = run.manifests[-1].facts if run.manifests else {"caps": {}, "totals": {}}
    return {
        "walk": _walk(read, facts),
        "doubled": _doubled(read, world),
        "accounted": {
            **{str(f): read.fates[f] for f in Fate},
            "candidates": read.fates.total(),
            **_unaccounted(run, read),
        },
        "ner": _rates(read.ner[True, True], read.ner[False, True], read.ner[True, False])
        | {"asked": read.ner.total()},
        **{f"dedup: {kind}": row for kind, row in _dedup(read, world).items()},
    }


def writer_of(folder: RunFolder, world: World) -> Mind:
    """The mind of the model that wrote the articles of a run, or of the run that an audit is about.

    Raises:
        InputError: the run of an audit is gone.
    """
    description = folder.description()
    identity = (audited_run(folder).description() if "audited" in description else description)["identity"]
    asked = identity.get("stages", {}).get("article", {})
    return Minds(world).of(asked.get("model") or identity["engine"]["model"])


def _read_wave(run: RunFolder, mind: Mind, wave: int, read: _Run) -> None:
    visits = run.read("subjects", [wave]).to_pylist()
    read.visits += visits
    columns = ["parent_id", "key", "name", "fate", "entity_id", "ner_completion"]
    by_parent: dict[int | None, list[Row]] = defaultdict(list)
    for row in run.read("candidates", [wave], columns).to_pylist():
        by_parent[row["parent_id"]].append(row)
        _read_candidate(row, None if row["parent_id"] is None else read.names[row["parent_id"]], mind, read)
    for visit in visits:
        if visit["candidates"] != len(by_parent[visit["subject_id"]]):
            read.unaccounted["subjects.candidates"] += 1
    for row in run.read("articles", [wave], ["subject_id", "wikitext"]).to_pylist():
        read.articles[row["subject_id"]] += 1
        linked = {canonical_key(link.target) for link in Article(row["wikitext"]).links}
        there = {c["key"] for c in by_parent[row["subject_id"]]}
        read.unaccounted["links without a candidate"] += len(linked - there)
        read.unaccounted["candidates without a link"] += len(there - linked)


def _read_candidate(row: Row, subject: str | None, mind: Mind, read: _Run) -> None:
    read.fates[row["fate"]] += 1
    if row["fate"] not in _FATES:
        read.unaccounted["unknown fate"] += 1
    if row["ner_completion"] is not None and subject is not None:
        read.ner[mind.world.deserves(subject, row["name"]), row["fate"] not in _NER_DROPS] += 1
    sense = mind.sense(row["name"], subject)
    if row["entity_id"] is not None and sense is not None:
        read.units.setdefault((row["key"], sense), row["entity_id"])
        if row["fate"] == Fate.QUEUED:
            read.senses[row["entity_id"]] = sense


def _walk(read: _Run, facts: Any) -> Row:
    generated = Counter(v["subject_id"] for v in read.visits if v["visit"] == "generate")
    unvisited = [e for e in read.entities if e["entity_id"] not in generated]
    caps = facts["caps"]
    full = caps.get("articles") is not None and read.articles.total() >= caps["articles"]
    deepest = caps.get("depth")
    passed = _passed_over(read)
    waiting = 0
    for e in unvisited:
        too_deep = deepest is not None and e["hop"] > deepest
        waiting += too_deep or (full and e["entity_id"] not in passed)
    twice = {n for n, k in (generated | read.articles).items() if k > 1}
    return {
        "entities": len(read.entities),
        "visited": len(generated),
        "articles": read.articles.total(),
        "errored": sum(v["error"] is not None for v in read.visits),
        "waiting": waiting,
        "lost": len(unvisited) - waiting,
        "twice": len(twice),
    }


def _passed_over(read: _Run) -> set[int]:
    """Unvisited entities that a wave left out in favour of later ones though its plan could see
    them.
    """
    first = {v["subject_id"]: v["wave"] for v in reversed(read.visits) if v["visit"] == "generate"}
    latest = -1
    out = set[int]()
    for e in sorted(read.entities, key=lambda e: (e["hop"], e["entity_id"]), reverse=True):
        wave = first.get(e["entity_id"])
        if wave is not None:
            latest = max(latest, wave)
        elif latest >= e["wave"] + _PLANNED_AHEAD:
            out.add(e["entity_id"])
    return out


def _doubled(read: _Run, world: World) -> Row:
    by_sense = Counter(read.senses.values())
    twice = {sense: k - 1 for sense, k in by_sense.items() if k > 1}
    bare = sum(k for sense, k in twice.items() if world.group_kind(sense) == "bare")
    return {
        "world_entities": len(by_sense),
        "strangers": len(read.entities) - len(read.senses),
        "doubled": sum(twice.values()) - bare,
        "doubled_bare": bare,
    }


def _unaccounted(run: RunFolder, read: _Run) -> Row:
    reasons: Counter[str] = Counter()
    for manifest in run.manifests:
        reasons.update(manifest.facts["counts"]["fates"])
    wrong = sum(abs(reasons[f] - read.fates[f]) for f in {*reasons, *read.fates})
    return {
        "unaccounted": read.unaccounted.total() + wrong,
        **{k: n for k, n in read.unaccounted.items() if n},
    }


def _dedup(read: _Run, world: World) -> dict[str, Row]:
    by_entity: dict[int, list[int]] = defaultdict(list)
    by_sense: dict[int, list[int]] = defaultdict(list)
    for (_, sense), entity in read.units.items():
        by_entity[entity].append(sense)
        by_sense[sense].append(entity)
    merged = Counter[str]()
    same = Counter[str]()
    right = Counter[str]()
    kind = {sense: _KINDS[world.group_kind(sense)] for sense in by_sense}
    for senses in by_entity.values():
        for a, b in combinations(senses, 2):
            for k in {kind[a], kind[b]}:
                merged[k] += 1
    for sense, entities in by_sense.items():
        for a, b in combinations(entities, 2):
            same[kind[sense]] += 1
            right[kind[sense]] += a == b
    units = Counter(kind[sense] for _, sense in read.units)
    return {
        k: {"units": units[k]} | _rates(right[k], merged[k] - right[k], same[k] - right[k])
        for k in _KINDS.values()
    }


def _rates(right: int, wrong: int, missed: int) -> Row:
    """Counts with precision, recall and F1; None where there is nothing to divide by."""
    precision = right / (right + wrong) if right + wrong else None
    recall = right / (right + missed) if right + missed else None
    f1 = 2 * right / (2 * right + wrong + missed) if right + wrong + missed else None
    return {
        "right": right,
        "wrong": wrong,
        "missed": missed,
        "precision": precision,
        "recall": recall,
        "f1": f1,
    }


def render(figures: dict[str, Row]) -> str:
    """The figures as text, a section a block."""
    lines = []
    for section, rows in figures.items():
        lines.append(section)
        for name, value in rows.items():
            shown = "-" if value is None else f"{value:.4f}" if isinstance(value, float) else _text(value)
            lines.append(f"  {name:<28} {shown}")
    return "\n".join(lines)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:,}"
