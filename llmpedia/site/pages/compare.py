"""The same subject in two runs side by side: figures, links, and the texts with what differs
marked.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from llmpedia.analysis.common.statistics import jaccard_of_sets
from llmpedia.entities.keys import canonical_key
from llmpedia.site.data.run_reader import Entity, Row, SiteRun
from llmpedia.site.pages.claim_views import WORDS, together
from llmpedia.site.pages.run_summary import facts
from llmpedia.site.pages.views import Context, article_views, resolver
from llmpedia.site.text.text_diff import MOST_SENTENCES, Said, compared, words_of
from llmpedia.site.urls import Addresses
from llmpedia.site.wikitext.page import ArticlePage, PagePart, Target

_KINDS = {"infobox": "In short", "categories": "Categories"}
_SPEAKING = ("Model", "Persona", "Topic")  # facts whose values need no name
_GRAMS = (1, 2, 3)
_LONG_SENTENCES = 3 * MOST_SENTENCES  # of them paragraphs are shown as wholes


@dataclass(frozen=True)
class Side:
    """An article of one run. ``label``: what tells its run from the other one; ``links``: canonical
    key -> name as linked.
    """

    run: SiteRun
    entity: Entity
    article: Row
    page: ArticlePage
    label: str
    href: str
    links: dict[str, str]


@dataclass(frozen=True)
class TextLine:
    """A sentence. ``number``: its own; ``elsewhere``: the part in which the other text has it,
    where that is another one.
    """

    number: int
    sentence: Said
    elsewhere: str | None


@dataclass(frozen=True)
class Column:
    """A part of one article. ``facts``: its paragraphs are lines of an infobox."""

    title: str | None
    facts: bool
    paragraphs: tuple[tuple[TextLine, ...], ...]


@dataclass(frozen=True)
class LinkSet:
    """Names linked by both articles, or by one only: (name, where it leads in each run); null: not
    linked there.
    """

    title: str
    names: tuple[tuple[str, Target | None, Target | None], ...]


def compare_page(
    run: SiteRun, entity: Entity, other: SiteRun, others: Sequence[SiteRun], to: Addresses
) -> Context:
    """An entity's article beside the one that ``other`` has on it; ``others``: all runs but
    ``run``.
    """
    choices = [
        (_label(run, one), one.name, to.compare(run.name, entity.id, entity.name, one.name), one is other)
        for one in others
        if written_there(one, entity) is not None or one is other
    ]
    left = _side(run, entity, other, to)
    right = _side(other, written_there(other, entity), run, to)
    context = {**article_views(run, entity, others, to, "compare"), "choices": choices, "other": other}
    if left is None or right is None:
        lacking = run if left is None else other
        return {**context, "lacking": lacking, "sides": None}
    rows = _rows(left, right)
    links = _link_sets(left, right, to)
    return {
        **context,
        "lacking": None,
        "sides": (left, right),
        "measures": _measures(left, right, rows, links),
        "verdicts": _verdicts(left, right),
        "rows": rows,
        "links": links,
        "wholes": max(len(left.page.sentences), len(right.page.sentences)) > MOST_SENTENCES,
    }


def written_there(other: SiteRun, entity: Entity) -> Entity | None:
    """The entity that a run knows by the same name or alias; None unless it has an article."""
    number = other.number_of(entity.name)
    there = other.entity(number) if number is not None else None
    return there if there is not None and there.written else None


def _side(run: SiteRun, entity: Entity | None, other: SiteRun, to: Addresses) -> Side | None:
    article = run.article(entity.id) if entity is not None else None
    if entity is None or article is None:
        return None
    page = ArticlePage(article["wikitext"] or "", entity.name)
    links: dict[str, str] = {}
    for name in page.links:
        links.setdefault(canonical_key(name), name)
    keys = {entity.key, canonical_key(entity.name)}
    named = {key: name for key, name in links.items() if key and key not in keys}
    return Side(
        run, entity, article, page, _label(other, run), to.article(run.name, entity.id, entity.name), named
    )


def _label(first: SiteRun, run: SiteRun) -> str:
    """What sets a run apart from the first: its model, persona or topic; else whatever differs; its
    name where nothing does.
    """
    mine = dict(facts(run))
    theirs = dict(facts(first))
    different = {name: value for name, value in mine.items() if theirs.get(name) != value and name != "Seed"}
    speaking = [value for name, value in different.items() if name in _SPEAKING]
    return ", ".join(speaking or (f"{name.lower()} {value}" for name, value in different.items())) or run.name


def _measures(
    left: Side, right: Side, rows: Sequence[tuple[Column | None, Column | None]], links: Sequence[LinkSet]
) -> list[Any]:
    """(name, of the left, of the right) or (name, of both)."""
    sizes = [
        Counter(
            line.sentence.kind
            for row in rows
            if (column := row[n])
            for lines in column.paragraphs
            for line in lines
        )
        for n in (0, 1)
    ]
    both, *only = (len(link_set.names) for link_set in links)
    measures: list[tuple[str, ...]] = [
        ("Words", *(f"{side.article['words']:,}" for side in (left, right))),
        ("Sections", *(f"{sum(h.level == 2 for h in side.page.contents):,}" for side in (left, right))),
        ("Sentences", *(f"{len(side.page.sentences):,}" for side in (left, right))),
        ("the same in both", *(f"{n['same']:,}" for n in sizes)),
        ("in other words", *(f"{n['changed']:,}" for n in sizes)),
        ("here only", *(f"{n['only']:,}" for n in sizes)),
        ("Names linked", *(f"{both + n:,}" for n in only)),
        ("by both", f"{both:,}"),
        ("by this one only", *(f"{n:,}" for n in only)),
    ]
    words = [
        [word for sentence in side.page.sentences for word in words_of(sentence)] for side in (left, right)
    ]
    for n in _GRAMS:
        a, b = (frozenset(zip(*(link_set[i:] for i in range(n)), strict=False)) for link_set in words)
        share = jaccard_of_sets(a, b)
        if share is not None:
            measures.append(
                ("Words in common" if n == 1 else f"Runs of {n} words in common", f"{100 * share:.1f}%")
            )
    return measures


def _verdicts(left: Side, right: Side) -> list[tuple[str, str, int, int]]:
    """(verdict, its word, claims of the left, of the right) where both were audited."""
    judged = [
        Counter(
            together(row["verdict"] for row in claim.verdicts)
            for audit in side.run.audits(side.entity.id)
            for claim in audit.claims
        )
        for side in (left, right)
    ]
    if not all(judged):
        return []
    return [(verdict, word, judged[0][verdict], judged[1][verdict]) for verdict, word in WORDS.items()]


# --- texts


def _rows(left: Side, right: Side) -> list[tuple[Column | None, Column | None]]:
    """Parts that belong together, side by side, with their sentences held against each other."""
    pairs = _aligned(left.page.parts(), right.page.parts())
    units = tuple(_units(side.page, [pair[n] for pair in pairs]) for n, side in enumerate((left, right)))
    texts = [[text for _, _, text in unit] for unit in units]
    places = [[place for place, _, _ in unit] for unit in units]
    sentences = compared(texts[0], texts[1], places[0], places[1])
    columns: list[list[Column | None]] = []
    for n in (0, 1):
        titles = [_title(pair[1 - n]) for pair in pairs]
        lines: defaultdict[int, list[list[TextLine]]] = defaultdict(list)
        before = None
        for number, ((place, paragraph, _), one) in enumerate(zip(units[n], sentences[n], strict=True)):
            if (place, paragraph) != before:
                lines[place].append([])
                before = (place, paragraph)
            there = units[1 - n][one.other][0] if one.other is not None else place
            lines[place][-1].append(
                TextLine(number, one, titles[there] or "the lead" if there != place else None)
            )
        parts = [pair[n] for pair in pairs]
        columns.append([_column(part, lines[place]) if part else None for place, part in enumerate(parts)])
    return list(zip(*columns, strict=True))


def _column(part: PagePart, paragraphs: Sequence[Sequence[TextLine]]) -> Column:
    return Column(_title(part), part.kind in _KINDS, tuple(tuple(lines) for lines in paragraphs))


def _title(part: PagePart | None) -> str | None:
    if part is None:
        return None
    return part.heading.title if part.heading else _KINDS.get(part.kind)


def _units(page: ArticlePage, parts: Sequence[PagePart | None]) -> list[tuple[int, int, str]]:
    """(place of the part, paragraph, text) of what is held against each other: sentences, or
    paragraphs of a very long text.
    """
    wholes = len(page.sentences) > _LONG_SENTENCES
    units = []
    for place, part in enumerate(parts):
        for n, (first, end) in enumerate(part.paragraphs if part else ()):
            texts = [" ".join(page.sentences[first:end])] if wholes else page.sentences[first:end]
            units += [(place, n, text) for text in texts]
    return units


def _aligned(
    ours: Sequence[PagePart], theirs: Sequence[PagePart]
) -> list[tuple[PagePart | None, PagePart | None]]:
    """Parts of the same heading; what is left between two of those in its order; the rest by
    itself.
    """
    partners = _by_heading(ours, theirs)
    taken = set(partners.values())
    gaps = defaultdict[int, list[int]](list)  # of theirs, by the part before them that has a partner
    before = -1
    for j in range(len(theirs)):
        if j in taken:
            before = j
        else:
            gaps[before].append(j)
    pairs: list[tuple[PagePart | None, PagePart | None]] = []
    before = -1
    for i, part in enumerate(ours):
        if i in partners:
            pairs += [(None, theirs[j]) for j in gaps.pop(before, ())]
            before = partners[i]
            pairs.append((part, theirs[before]))
        else:
            waiting = gaps[before]
            pairs.append((part, theirs[waiting.pop(0)] if waiting else None))
    return pairs + [(None, theirs[j]) for j in sorted(j for waiting in gaps.values() for j in waiting)]


def _by_heading(ours: Sequence[PagePart], theirs: Sequence[PagePart]) -> dict[int, int]:
    free = defaultdict[tuple[str, ...], list[int]](list)
    for j in reversed(range(len(theirs))):
        free[_name(theirs[j])].append(j)
    return {i: free[_name(part)].pop() for i, part in enumerate(ours) if free[_name(part)]}


def _name(part: PagePart) -> tuple[str, ...]:
    """What a part goes by; headings by their words."""
    title = part.heading.title if part.heading else ""
    return (part.kind, *(words_of(title) or [title]))


# --- links


def _link_sets(left: Side, right: Side, to: Addresses) -> list[LinkSet]:
    """Linked by both, by the left only, by the right only. Names that either run knows as one
    entity are one.
    """
    runs = (left.run, right.run)
    theirs = {form: key for key in right.links for form in _forms(key, runs)}
    partner: dict[str, str] = {}
    taken: set[str] = set()
    for key in left.links:
        link = next((theirs[form] for form in _forms(key, runs) if form in theirs), None)
        if link is not None and link not in taken:
            partner[key] = link
            taken.add(link)
    here = resolver(left.run, left.entity, to)
    there = resolver(right.run, right.entity, to)
    shared = [(left.links[a], here(left.links[a]), there(right.links[b])) for a, b in partner.items()]
    mine = [(name, here(name), None) for key, name in left.links.items() if key not in partner]
    others = [(name, None, there(name)) for key, name in right.links.items() if key not in taken]
    return [
        LinkSet("Linked by both", tuple(shared)),
        LinkSet(f"Only in {left.label}", tuple(mine)),
        LinkSet(f"Only in {right.label}", tuple(others)),
    ]


def _forms(key: str, runs: Sequence[SiteRun]) -> Iterator[str | tuple[int, int]]:
    """What a linked name may be known by: its key, and the entity that it is in either run."""
    yield key
    for n, run in enumerate(runs):
        if (number := run.catalogue.numbers.get(key)) is not None:
            yield n, number
