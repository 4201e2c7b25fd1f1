"""Personas as tables 21 to 28 of the LLMpedia paper (appendix M), with every test and every
article's rates beside them.

Tables that list what is significant have no rows where nothing is; it is then said among what is
missing, with the reason.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from llmpedia.analysis.output.formats import TableRow, TableRows
from llmpedia.analysis.output.page import ReportPart
from llmpedia.analysis.personas.figures import persona_figures
from llmpedia.analysis.personas.framing import UNIT, Lexicons, load_lexicons, rate_of, shown_rate
from llmpedia.analysis.personas.stylometry import style_row
from llmpedia.analysis.personas.tests import (
    ALPHA,
    ScoredArticle,
    TopicCell,
    cells_of,
    framing_tests,
    grid_command,
    grouped,
)
from llmpedia.store.run_folder import RunFolder

PRIMARY = "primary"
EXTENDED = "extended"
LEAST_DELTA = 1.0
"""Hits per 1,000 tokens from which on table 23 lists an effect."""
_AGNOSTIC = "topic_agnostic"
_TOLD = 3  # reasons spelt out
_TITLES = {
    "table_21_vocabulary": "Table 21: framing vocabulary",
    "table_22_framing": "Table 22: mean hits per 1,000 tokens",
    "table_23_significant": (
        f"Table 23: significant effects on the primary topics (relevant, {LEAST_DELTA:g} hit or more)"
    ),
    "table_24_actors": "Table 24: actors by spread over personas",
    "table_25_style": "Table 25: structure and style of articles on the same subject",
    "table_26_topic_agnostic_vocabulary": "Table 26: topic-agnostic vocabulary",
    "table_27_extended": "Table 27: significant effects on all other topics",
    "table_28_topics": "Table 28: significant effects by topic",
    "persona_cells": "Subjects compared",
    "persona_tests": "Every test of framing",
    "persona_articles": "Every article compared: tokens, hits per 1,000 tokens",
}


def personas_part(runs: Sequence[RunFolder], audits: Sequence[RunFolder]) -> ReportPart:
    """Framing and style by persona, of runs that differ in nothing else; audits say nothing of it."""
    lexicons = load_lexicons()
    groups, missing = grouped(runs)
    cells, without = cells_of(groups, lexicons)
    if not cells:
        return ReportPart({}, _nothing(lexicons, without))
    tests = framing_tests(cells, lexicons)
    tables = {
        "table_21_vocabulary": _vocabulary(lexicons, agnostic=False),
        "table_22_framing": _framing(cells, lexicons),
        "table_23_significant": _effects(
            [t for t in tests if t["family"] == PRIMARY and _listed(t)], lexicons
        ),
        "table_24_actors": _actors(cells, lexicons),
        "table_25_style": _style(cells),
        "table_26_topic_agnostic_vocabulary": _vocabulary(lexicons, agnostic=True),
        "table_27_extended": _effects(
            [t for t in tests if t["family"] == EXTENDED and t["significant"]], lexicons
        ),
        "table_28_topics": _topics(cells, tests),
        "persona_cells": [_sample(cell) for cell in cells],
        "persona_tests": tests,
        "persona_articles": [row for cell in cells for row in _articles(cell, lexicons)],
    }
    figures = persona_figures(
        tables["table_22_framing"], _effects([t for t in tests if t["significant"]], lexicons)
    )
    shown_above = {"table_22_framing": ("persona_hits",), "table_28_topics": ("persona_effects",)}
    other = {"command": "llmpedia materialize CONFIG --run OTHER_RUN --set run.persona=OTHER_PERSONA"}
    absent = [*missing, *(other | row for row in without), *_absent(tables, cells, lexicons)]
    return ReportPart(tables, absent, _TITLES, figures, shown_above, "Personas")


def _listed(test: TableRow) -> bool:
    """Whether table 23 lists it."""
    return bool(test["significant"] and test["relevant"] and abs(test["delta"]) >= LEAST_DELTA)


def _vocabulary(lexicons: Lexicons, agnostic: bool) -> TableRows:
    return [
        {"group": d.group, "dimension": d.name, "entries": len(d.words), "vocabulary": ", ".join(d.words)}
        for d in lexicons.dimensions
        if (d.group == _AGNOSTIC) == agnostic
    ]


def _by_topic(cells: Iterable[TopicCell]) -> dict[str, list[TopicCell]]:
    by_topic: defaultdict[str, list[TopicCell]] = defaultdict(list)
    for cell in cells:
        by_topic[cell.topic.name].append(cell)
    return dict(by_topic)


def _pooled(cells: Sequence[TopicCell]) -> dict[str, list[ScoredArticle]]:
    """Persona -> its articles of all models."""
    scored: defaultdict[str, list[ScoredArticle]] = defaultdict(list)
    for cell in cells:
        for persona in cell.personas:
            scored[persona] += cell.articles[persona]
    return dict(sorted(scored.items()))


def _framing(cells: Sequence[TopicCell], lexicons: Lexicons) -> TableRows:
    """A row a topic and dimension that speaks to it, a column a persona; ``models`` are pooled."""
    rows: TableRows = []
    for topic, of in _by_topic(cells).items():
        articles = _pooled(of)
        for place in lexicons.relevant(of[0].topic):
            rates = {
                persona: sum(a.rates[place] for a in written) / len(written)
                for persona, written in articles.items()
            }
            dimension = lexicons.dimensions[place]
            row = {
                "family": of[0].topic.family,
                "topic": topic,
                "dimension": dimension.name,
                "models": len(of),
            }
            shown = {persona: round(rate / UNIT, 4) for persona, rate in rates.items()}
            rows.append(
                {**row, "articles": sum(map(len, articles.values())), **shown, "highest": _highest(rates)}
            )
    return rows


def _highest(values: Mapping[str, float]) -> str | None:
    """The persona with most; null where several have it."""
    top = [persona for persona, value in values.items() if value == max(values.values())]
    return top[0] if len(top) == 1 else None


def _effects(tests: TableRows, lexicons: Lexicons) -> TableRows:
    """Within a topic by size of the effect."""
    tests = sorted(
        tests,
        key=lambda t: (
            lexicons.place(t["topic"]),
            -abs(t["delta"]),
            t["dimension"],
            t["model"],
            t["persona_a"],
        ),
    )
    return [_effect(test) for test in tests]


def _effect(test: TableRow) -> TableRow:
    up = test["delta"] > 0 or (test["delta"] == 0 and test["rank_biserial"] > 0)
    low = test["delta_low"]
    high = test["delta_high"]
    return {
        "topic": test["topic"],
        "model": test["model"],
        "dimension": test["dimension"],
        "relevant": test["relevant"],
        "higher": test["persona_a"] if up else test["persona_b"],
        "lower": test["persona_b"] if up else test["persona_a"],
        "abs_delta": abs(test["delta"]),
        "low": low if up else -high,
        "high": high if up else -low,
        "rank_biserial": test["rank_biserial"] if up else -test["rank_biserial"],
        "p_bonferroni": test["p_bonferroni"],
        "n": test["n"],
        "tests": test["tests"],
    }


def _actors(cells: Sequence[TopicCell], lexicons: Lexicons) -> TableRows:
    """Each word of the lists of actors: hits over tokens of all articles of a persona, models
    pooled; by spread.

    ``hits_per_1000``: of the persona that has most. Words that stand in no article are left out.
    """
    rows: TableRows = []
    for topic, of in _by_topic(cells).items():
        articles = _pooled(of)
        tokens = {persona: sum(len(a.words.tokens) for a in written) for persona, written in articles.items()}
        for lexicon in lexicons.actors(of[0].topic):
            for actor in lexicon.words:
                hits = {
                    persona: sum(a.words.hits(actor) for a in written)
                    for persona, written in articles.items()
                }
                rates = {persona: rate_of(hits[persona], tokens[persona]) for persona in articles}
                if any(hits.values()):
                    category = lexicon.name.removeprefix("actors_")
                    rows.append(
                        {
                            "topic": topic,
                            "actor": actor,
                            "category": category,
                            **_spread(rates),
                            "hits": sum(hits.values()),
                        }
                    )
    return sorted(
        rows, key=lambda row: (lexicons.place(row["topic"]), -row["spread"], row["category"], row["actor"])
    )


def _spread(rates: Mapping[str, int]) -> TableRow:
    most = max(rates.values())
    least = min(rates.values())
    each = {persona: shown_rate(rate) for persona, rate in rates.items()}
    return {
        "highest": _highest(rates),
        "spread": shown_rate(most - least),
        "hits_per_1000": shown_rate(most),
        **each,
    }


def _style(cells: Sequence[TopicCell]) -> TableRows:
    rows: TableRows = []
    for cell in cells:
        styles = {persona: [a.style for a in written] for persona, written in cell.articles.items()}
        for a, b in combinations(cell.personas, 2):
            rows.append(
                {
                    **cell.names,
                    "persona_a": a,
                    "persona_b": b,
                    "n": len(cell.subjects),
                    **style_row(styles[a], styles[b]),
                }
            )
    return rows


def _topics(cells: Sequence[TopicCell], tests: TableRows) -> TableRows:
    """A row a topic. ``significant``: all tests that are; ``listed``: as table 23 counts them."""
    rows: TableRows = []
    for topic, of in _by_topic(cells).items():
        topic_tests = [t for t in tests if t["topic"] == topic]
        listed = [t for t in topic_tests if _listed(t)]
        row = {
            "family": of[0].topic.family,
            "topic": topic,
            "contested": of[0].topic.contested,
            "models": len(of),
        }
        counts = {
            "tests": len(topic_tests),
            "significant": sum(t["significant"] for t in topic_tests),
            "listed": len(listed),
        }
        rows.append({**row, **counts, "max_abs_delta": max((abs(t["delta"]) for t in listed), default=None)})
    return rows


def _sample(cell: TopicCell) -> TableRow:
    return {
        **cell.names,
        "personas": cell.personas,
        "common_subjects": cell.common,
        "drawn": cell.drawn,
        "wordless": cell.wordless,
        "n": len(cell.subjects),
    }


def _articles(cell: TopicCell, lexicons: Lexicons) -> TableRows:
    names = [d.name for d in lexicons.dimensions]
    return [
        {
            **cell.names,
            "subject": subject,
            "persona": persona,
            "tokens": len(cell.articles[persona][n].words.tokens),
            **{
                name: shown_rate(rate)
                for name, rate in zip(names, cell.articles[persona][n].rates, strict=True)
            },
        }
        for n, subject in enumerate(cell.subjects)
        for persona in cell.personas
    ]


def _nothing(lexicons: Lexicons, without: TableRows) -> TableRows:
    """Nothing can be compared: one row for all tables, with the reason."""
    reasons = [f"{row['what']}: {row['reason']}" for row in without]
    reason = "; ".join(reasons[:_TOLD]) + (
        f"; and {len(reasons) - _TOLD} more" if len(reasons) > _TOLD else ""
    )
    command = next(
        (row["command"] for row in without if "command" in row), grid_command(lexicons.config(PRIMARY))
    )
    actors = grid_command(lexicons.actors_config())
    extended = grid_command(lexicons.config(EXTENDED))
    names = ", ".join(name for name in _TITLES if name.startswith("table_"))
    commands = "; ".join(dict.fromkeys((command, actors, extended)))
    return [{"table": "personas", "what": names, "reason": reason or "no run was given", "command": commands}]


def _absent(tables: Mapping[str, TableRows], cells: Sequence[TopicCell], lexicons: Lexicons) -> TableRows:
    """Tables and figures without rows, with the reason."""
    rows: TableRows = []
    tests = tables["persona_tests"]
    for name, family in (("table_23_significant", PRIMARY), ("table_27_extended", EXTENDED)):
        if not tables[name]:
            rows.append(_no_effects(name, family, [t for t in tests if t["family"] == family], lexicons))
    if not tables["table_24_actors"]:
        rows.append(_no_actors(cells, lexicons))
    if not any(t["significant"] for t in tests):
        rows.append(
            {"table": "table_28_topics", "what": "figure persona_effects", "reason": "no test is significant"}
        )
    return rows


def _no_effects(name: str, family: str, tests: TableRows, lexicons: Lexicons) -> TableRow:
    row = {"table": name, "what": "all"}
    if not tests:
        reason = f"no topic of the {family} family has two personas"
        return row | {"reason": reason, "command": grid_command(lexicons.config(family))}
    where = (
        f" on a relevant dimension with a difference of {LEAST_DELTA:g} hit or more"
        if family == PRIMARY
        else ""
    )
    return row | {"reason": f"none of {len(tests)} tests is significant at {ALPHA:g}/{len(tests)}{where}"}


def _no_actors(cells: Sequence[TopicCell], lexicons: Lexicons) -> TableRow:
    row = {"table": "table_24_actors", "what": "all"}
    if any(lexicons.actors(cell.topic) for cell in cells):
        return row | {"reason": "no actor of the lists stands in an article compared"}
    return row | {
        "reason": "no topic compared has a list of actors",
        "command": grid_command(lexicons.actors_config()),
    }
