"""A run in charts: its funnel, fates and coverage by hop, reasons to reject, who absorbs aliases,
what audits found by hop.

Counting reads every candidate of a run, some seconds for a hundred thousand articles: it is done
once for each version of the run, in the background. Every chart is bars that a page draws; what
they show is text beside them and a table below.
"""

import statistics
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from llmpedia.analysis.common.statistics import drawn_width
from llmpedia.analysis.funnel.tables import funnel_tables, is_walk
from llmpedia.audit.audit_folder import audit_data
from llmpedia.audit.measures.verdicts import SHARES, article_scores
from llmpedia.errors import InputError
from llmpedia.site.data.run_reader import Row, SiteRun
from llmpedia.site.pages.claim_views import TIERS
from llmpedia.site.pages.views import Context
from llmpedia.site.urls import Addresses
from llmpedia.store.run_folder import RunFolder

Rows = list[Row]

_STEPS = {
    "raw_links": "links in the articles",
    "pre_ner_input": "names, without the page itself and doubtful ones",
    "after_canonical_dedup": "not known before",
    "after_ner": "judged to be an entity",
    "after_similarity": "no other name of a known one",
    "queue_inserted_children": "queued for an article",
}
_SURVIVALS = {
    "canonical": "not known before",
    "ner": "judged to be an entity",
    "similarity": "no other name of a known one",
    "overall": "all steps together",
}
_FATES = {
    "inserted": ("solid", "queued for an article"),
    "known": ("pale", "known before"),
    "similarity_rejected": ("dots", "another name of a known one"),
    "ner_rejected": ("stripes", "no entity"),
    "capped": ("grid", "no room left"),
    "before": ("open", "the page itself, or too doubtful"),
}
_COVERAGE = {
    "expanded": ("solid", "written and expanded"),
    "kept": ("pale", "written, links not followed"),
    "errored": ("stripes", "failed"),
    "waiting": ("open", "queued"),
}
_VERDICTS = {
    "true": ("supported", "true"),
    "unverifiable": ("insufficient", "not verifiable"),
    "false": ("refuted", "false"),
}
_STAGES = {"ner": "Entity check", "similarity": "Comparison with known names"}
_SAMPLES = ("hop", "random")


@dataclass(frozen=True)
class ChartCounts:
    """What charts are made of. ``tables``: see ``analysis.funnel.tables``; ``audits``: a row an
    audit, tier and hop; ``notes``: what is wrong with an audit's folder.
    """

    tables: Mapping[str, Rows]
    audits: Rows
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Segment:
    """A piece of a bar. ``texture``: how it is filled; ``offset``, ``width``: percent; ``label``:
    in words.
    """

    texture: str
    offset: float
    width: float
    label: str


@dataclass(frozen=True)
class ChartLine:
    """A bar. ``text``: its numbers; ``spread``: (from, to) in percent; ``group``: a title above it,
    where a new one begins.
    """

    label: str
    text: str
    segments: tuple[Segment, ...]
    href: str | None = None
    spread: tuple[float, float] | None = None
    group: str | None = None


@dataclass(frozen=True)
class Chart:
    """Bars with their table. ``key``: (texture, word) of the pieces; ``first``, ``last``: titles of
    labels and numbers.
    """

    anchor: str
    title: str
    about: str
    key: tuple[tuple[str, str], ...]
    first: str
    last: str
    lines: tuple[ChartLine, ...]
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class Counting:
    """Counts of runs, each made once for a version of its run, in the background."""

    def __init__(self, count: "Callable[[SiteRun], ChartCounts] | None" = None) -> None:
        """``count``: what counts; None: :func:`counted`."""
        self._count = count or counted
        self._lock = threading.Lock()
        self._begun: dict[str, tuple[Any, Future[ChartCounts]]] = {}

    def of(self, run: SiteRun, wait: float) -> ChartCounts | None:
        """The counts of a run; None: they are not made yet, after ``wait`` seconds.

        Raises:
            InputError: a file is missing or damaged.
        """
        with self._lock:
            version, future = self._begun.get(run.name, (None, None))
            if future is None or version != run.version:
                version = run.version
                future = Future[ChartCounts]()
                self._begun[run.name] = (version, future)
                threading.Thread(target=self._fill, args=(future, run), daemon=True, name="counts").start()
        try:
            return future.result(wait)
        except TimeoutError:
            if future.done():  # it is the counting that failed so
                raise
            return None

    def _fill(self, future: "Future[ChartCounts]", run: SiteRun) -> None:
        try:
            future.set_result(self._count(run))
        except Exception as e:  # raised again to whoever asks
            future.set_exception(e)


def counted(run: SiteRun) -> ChartCounts:
    """Count a run.

    Raises:
        InputError: a file is missing or damaged.
    """
    folder = RunFolder.open(run.run.uri)  # its own: that of the site may take up waves meanwhile
    audit_rows = list[Row]()
    notes = list[str]()
    for audit in run.site_audits:
        try:
            audit_rows += _found_by_hop(audit.name, article_scores(audit_data(audit.run)))
        except InputError as e:
            notes.append(str(e))
    return ChartCounts(funnel_tables([folder]) if is_walk(folder) else {}, audit_rows, tuple(notes))


def _found_by_hop(audit: str, scores: Rows) -> Rows:
    """Macro averages by tier and hop, over the sample by hop; of an audit without one, over its
    random sample.
    """
    sample = next((name for name in _SAMPLES if any(name in row["strata"] for row in scores)), None)
    rows: Rows = []
    for tier in TIERS:
        for hop in sorted({row["hop"] for row in scores}):
            part = [
                row for row in scores if sample in row["strata"] and (row["tier"], row["hop"]) == (tier, hop)
            ]
            usable = [row["usable"] for row in part if row["usable"] is not None]
            if not part:
                continue
            shares = {name: [row[name] for row in part if row[name] is not None] for name in SHARES}
            means = {name: statistics.fmean(known) if known else None for name, known in shares.items()}
            coverage = statistics.fmean(usable) if usable else None
            at = {"audit": audit, "sample": sample, "tier": tier, "hop": hop, "articles": len(part)}
            rows.append(at | {"judged": len(shares["true"]), "coverage": coverage, **means})
    return rows


def charts_page(run: SiteRun, counts: ChartCounts | None, to: Addresses) -> Context:
    """The charts of a run; ``counts``: None while it is being counted."""
    charts = [chart for chart in (_charts(run, counts, to) if counts else ()) if chart.lines]
    notes = (*run.notes, *(counts.notes if counts else ()))
    return {"run": run, "title": "Charts", "made": counts is not None, "charts": charts, "notes": notes}


def funnel_part(run: SiteRun, counts: ChartCounts | None) -> Context:
    """What a home page shows of the counts: (label, names left, percent of the widest, names lost)
    a step, as in the charts.
    """
    rows = counts.tables.get("table_03_funnel", []) if counts else []
    steps = _steps(rows[0]) if rows and rows[0]["raw_links"] else []
    widest = max((n for _, n, _ in steps), default=0)
    bars = [
        (label, n, drawn_width(n, widest), max(0, before - n) if before is not None else 0)
        for label, n, before in steps
    ]
    return {"funnel": bars, "funnel_wait": counts is None and not run.imported, "funnel_note": None}


def _charts(run: SiteRun, counts: ChartCounts, to: Addresses) -> Iterator[Chart]:
    tables = counts.tables
    if tables:
        yield _funnel(tables["table_15_survival"])
        yield _survival(tables["survival_by_hop"])
        yield _fates(tables["fate_shares_by_hop"])
        yield _coverage(run, tables["table_17_coverage_by_hop"], to)
        yield _reasons(tables["reject_reasons"])
        yield _absorbers(run, tables["top_absorbing_entities"], to)
    for sample in _SAMPLES:
        if rows := [row for row in counts.audits if row["sample"] == sample]:
            yield _factuality(sample, rows)


# --- charts


def _steps(row: Row) -> list[tuple[str, int, int | None]]:
    """(label, names left, names left by the step before; None: it is the first) of each step."""
    left = [row[column] for column in _STEPS]
    return list(zip(_STEPS.values(), left, [None, *left[:-1]], strict=True))


def _funnel(rows: Rows) -> Chart:
    row = rows[0]
    lines = []
    whole = row["raw_links"]
    for label, n, before in _steps(row):
        kept = f" ({100 * n / before:.1f}%)" if before else ""
        segment = Segment("solid", 0, drawn_width(n, whole), f"{label}: {n:,}")
        lines.append(ChartLine(label, f"{n:,}{kept}", (segment,)))
    about = f"What is left of the names that {row['generated_articles']:,} articles link after each step."
    lines = lines if whole else []
    return Chart(
        "funnel",
        "From links to articles",
        about,
        (),
        "step",
        "names (kept by it)",
        tuple(lines),
        *_table(rows),
    )


def _survival(rows: Rows) -> Chart:
    """A group a step, a bar a hop; a line across: one sigma on either side of the mean."""
    lines = []
    for name, label in _SURVIVALS.items():
        known = [row for row in rows if row[f"{name}_pct"] is not None]
        for n, row in enumerate(known):
            mean = row[f"{name}_pct"]
            sd = row[f"{name}_sd"]
            spread = None if sd is None else (max(0.0, mean - sd), min(100.0, mean + sd))
            text = f"{mean:.1f}%" + (f" ± {sd:.1f}" if sd is not None else "")
            segments = (Segment("solid", 0, mean, text),)
            lines.append(
                ChartLine(
                    f"Hop {row['parent_hop']}",
                    text,
                    segments,
                    spread=spread,
                    group=None if n else label.capitalize(),
                )
            )
    about = (
        "Share of the names that pass a step: mean over the articles of a hop, the thin line "
        "one standard deviation."
    )
    return Chart(
        "survival", "Survival by hop", about, (), "hop of the article", "pass", tuple(lines), *_table(rows)
    )


def _fates(rows: Rows) -> Chart:
    lines = []
    for row in rows:
        parts = [(texture, row[f"{name}_pct"], word) for name, (texture, word) in _FATES.items()]
        lines.append(ChartLine(f"Hop {row['hop']}", f"{row['candidates']:,}", _stacked(parts)))
    about = (
        "Of all names that articles link, what became of them; a name counts at the hop at "
        "which it would stand."
    )
    there = {segment.texture for line in lines for segment in line.segments}
    key = tuple(part for part in _FATES.values() if part[0] in there)
    return Chart(
        "fates", "What became of them, hop by hop", about, key, "hop", "names", tuple(lines), *_table(rows)
    )


def _coverage(run: SiteRun, rows: Rows, to: Addresses) -> Chart:
    lines = []
    for row in rows:
        counts = {
            "expanded": row["expanded"],
            "kept": max(0, row["with_article"] - row["expanded"]),
            "errored": row["errored"],
            "waiting": row["entities"] - row["with_article"] - row["errored"],
        }
        parts = [
            (texture, drawn_width(counts[name], row["entities"]), word)
            for name, (texture, word) in _COVERAGE.items()
        ]
        text = f"{row['with_article']:,} of {row['entities']:,}"
        href = to.listing(run.name, row["hop"]) if row["with_article"] else None
        lines.append(ChartLine(f"Hop {row['hop']}", text, _stacked(parts), href))
    there = {segment.texture for line in lines for segment in line.segments}
    key = tuple(part for part in _COVERAGE.values() if part[0] in there)
    about = "Entities by distance from the seed, and how many of them have an article."
    return Chart(
        "coverage", "How far it came", about, key, "hop", "written of named", tuple(lines), *_table(rows)
    )


def _reasons(rows: Rows) -> Chart:
    lines = []
    before = None
    for row in rows:
        word = row["reason"].replace("_", " ")
        text = f"{row['candidates']:,} ({row['pct']:.1f}%)"
        group = _STAGES.get(row["stage"], row["stage"]) if row["stage"] != before else None
        lines.append(
            ChartLine(word, text, (Segment("solid", 0, row["pct"], f"{word}: {text}"),), group=group)
        )
        before = row["stage"]
    about = "Names that a step turned down, by its reason; of all that the step turned down."
    return Chart(
        "reasons", "Why names were turned down", about, (), "reason", "names", tuple(lines), *_table(rows)
    )


def _absorbers(run: SiteRun, rows: Rows, to: Addresses) -> Chart:
    most = max((row["aliases"] for row in rows), default=0)
    lines = []
    shown = []
    for row in rows:
        entity = run.entity(row["entity_id"])
        if entity is not None:  # by the site's own name for it
            names = f"{row['aliases']:,}"
            segment = Segment("solid", 0, drawn_width(row["aliases"], most), f"{entity.name}: {names}")
            lines.append(
                ChartLine(entity.name, names, (segment,), to.article(run.name, entity.id, entity.name))
            )
            shown.append({**row, "name": entity.name})
    about = f"The {len(lines)} entities that most other names were found to belong to."
    title = "Entities with most other names"
    return Chart("absorbers", title, about, (), "entity", "other names", tuple(lines), *_table(shown))


def _factuality(sample: str, rows: Rows) -> Chart:
    lines = []
    before = None
    for row in rows:
        parts = [(texture, 100 * (row[name] or 0.0), word) for name, (texture, word) in _VERDICTS.items()]
        text = (
            f"{_shown(row['true'], True)} true, {row['judged']:,} articles"
            if row["judged"]
            else "none judged"
        )
        at = (row["audit"], row["tier"])
        group = f"Against {TIERS[row['tier']]}, audit {row['audit']}" if at != before else None
        lines.append(
            ChartLine(f"Hop {row['hop']}", text, _stacked(parts) if row["judged"] else (), group=group)
        )
        before = at
    drawn = {"hop": "a sample of every hop", "random": "a random sample"}[sample]
    about = (
        f"Claims of {drawn} of articles held against what the judge was shown; shares averaged over articles."
    )
    table = [{**row, **{name: _shown(row[name], True) for name in ("coverage", *SHARES)}} for row in rows]
    key = tuple(_VERDICTS.values())
    title = f"True and false, hop by hop: {sample} sample"
    return Chart(f"factuality-{sample}", title, about, key, "hop", "claims", tuple(lines), *_table(table))


# --- numbers


def _stacked(parts: Sequence[tuple[str, float, str]]) -> tuple[Segment, ...]:
    """(texture, percent, word) as pieces one behind the other."""
    segments = []
    at = 0.0
    for texture, share, word in parts:
        if share > 0:
            segments.append(Segment(texture, round(at, 3), round(share, 3), f"{word} {share:.1f}%"))
        at += share
    return tuple(segments)


def _table(rows: Rows) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """(head, rows) of a table of text; the run is known."""
    columns = [name for name in rows[0] if name not in ("run", "entity_id", "sample")] if rows else []
    head = tuple(name.replace("_pct", " %").replace("_sd", " sigma").replace("_", " ") for name in columns)
    return head, tuple(tuple(_shown(row[name]) for name in columns) for row in rows)


def _shown(value: Any, share: bool = False) -> str:
    """A value in a table. ``share``: it is one, from 0 to 1."""
    if value is None:
        return "–"
    if share:
        return f"{100 * value:.1f}%"
    return f"{value:,}" if isinstance(value, int | float) else str(value)
