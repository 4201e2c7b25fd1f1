"""What each page shows: from a run to the names that its template uses. No request, no address but
through ``to``.

The app and the static export make the same pages of it.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from llmpedia.entities.keys import canonical_key
from llmpedia.site.data.run_reader import Entity, Row, SiteRun
from llmpedia.site.pages import fates
from llmpedia.site.pages.claim_alignment import place
from llmpedia.site.pages.claim_views import CheckedClaim, ShownClaim, checked
from llmpedia.site.pages.run_summary import facts, story
from llmpedia.site.urls import Addresses
from llmpedia.site.wikitext.page import ArticlePage, Html, Mark, Target
from llmpedia.wikitext import first_words

Context = dict[str, Any]

NAMES_A_PAGE = 240
HITS = 40
_CHILDREN = 60
_LINKING = 30
_LEAD_WORDS = 90
_HIT = re.compile("\x02([^\x03]*)\x03")


@dataclass(frozen=True)
class Tab:
    """A view of an entity. ``here``: it is the one shown."""

    label: str
    href: str
    here: bool


@dataclass(frozen=True)
class Naming:
    """Where an entity was first named; null for a seed."""

    parent: Entity
    sentence: str | None


@dataclass(frozen=True)
class Bit:
    """A piece of a snippet. ``hit``: it is what was searched for."""

    text: str
    hit: bool


@dataclass(frozen=True)
class Parsed:
    """An article's page with what audits say, claims at their sentences."""

    page: ArticlePage
    checked: list[CheckedClaim]
    claims_of: dict[int, list[ShownClaim]]


def start_page(runs: Sequence[SiteRun]) -> Context:
    """All runs."""
    shown = [{"run": run, "facts": facts(run), "totals": run.totals()} for run in runs]
    return {"title": "Encyclopedias", "shown": shown}


def home_page(run: SiteRun) -> Context:
    """A run: what it is, its story, where to begin."""
    seed = next((e for n in range(8) if (e := run.entity(n)) is not None and e.hop == 0 and e.written), None)
    article = run.article(seed.id) if seed else None
    lead = article["lead"] or "" if article else ""
    cut = first_words(lead, _LEAD_WORDS)
    summary = story(run)
    asked = dict(summary.facts)
    return {
        "run": run,
        "title": run.title,
        "subject": asked.get("Topic") or asked.get("Seed") or asked.get("Encyclopedia") or run.name,
        "model": asked.get("Model"),
        "persona": asked.get("Persona"),
        "source": asked.get("Imported from"),
        "story": summary,
        "seed": seed,
        "lead": cut + (" …" if len(cut) < len(" ".join(lead.split())) else ""),
        "letters": run.letters(),
        "next": [e for e in run.children(seed.id) if e.written][:12] if seed else [],
    }


def list_page(run: SiteRun, hop: int | None, letter: str | None, page: int) -> Context:
    """Articles by name, of one hop or all, under one letter or all."""
    names, total = run.listed(hop, letter, (page - 1) * NAMES_A_PAGE, NAMES_A_PAGE)
    pages = max(1, -(-total // NAMES_A_PAGE))
    parts = ["Articles", f"under {letter}" if letter else "", f"at hop {hop}" if hop is not None else ""]
    return {
        "run": run,
        "title": " ".join(part for part in parts if part),
        "names": names,
        "total": total,
        "letters": run.letters(hop),
        "hops": {n: written for n, (_, written, _) in sorted(run.totals()["hops"].items()) if written},
        "hop": hop,
        "letter": letter,
        "page": page,
        "pages": pages,
        "first": (page - 1) * NAMES_A_PAGE + 1,
    }


def search_page(run: SiteRun, query: str, hits: Sequence[Any], note: str | None) -> Context:
    """What a search found; ``hits`` as ``Search.find`` gives them. ``note``: why there may be more;
    None: there is not.
    """
    results = [{"entity": run.entity(hit.number), "bits": bits(hit.snippet)} for hit in hits]
    return {
        "run": run,
        "title": f"Search: {query}" if query else "Search",
        "query": query,
        "hits": [hit for hit in results if hit["entity"] is not None],
        "note": note,
        "most": HITS,
    }


def suggestions(run: SiteRun, hits: Sequence[Any], to: Addresses) -> Context:
    """The same as data, for whoever types."""
    rows = [
        {
            "name": hit.name,
            "href": to.article(run.name, hit.number, hit.name),
            "snippet": [{"text": bit.text, "hit": bit.hit} for bit in bits(hit.snippet)],
        }
        for hit in hits
    ]
    return {"hits": rows}


def bits(snippet: str) -> list[Bit]:
    """A snippet in pieces; hits stand between the marks 2 and 3."""
    parts = _HIT.split(snippet or "")
    return [Bit(text, n % 2 == 1) for n, text in enumerate(parts) if text]


def article_page(run: SiteRun, entity: Entity, others: Sequence[SiteRun], to: Addresses) -> Context:
    """An article with its links, claims, path and children."""
    row = run.article(entity.id)
    if row is None:
        return missing_page(run, entity, others, to)
    parsed = parse(run, entity, row)
    marks = {
        n: [Mark(claim.number, claim.verdict) for claim in claims] for n, claims in parsed.claims_of.items()
    }
    html: Html = parsed.page.html(resolver(run, entity, to), marks)
    return {
        **article_views(run, entity, others, to, "article"),
        "html": html,
        "contents": parsed.page.contents,
        "checked": parsed.checked,
        "sentence_of": {c.number: n for n, claims in parsed.claims_of.items() for c in claims},
        "article": row,
        "model": dict(facts(run)).get("Model"),
    }


def missing_page(run: SiteRun, entity: Entity, others: Sequence[SiteRun], to: Addresses) -> Context:
    """An entity without an article, and why it has none."""
    subject = run.subject(entity.id)
    return {**article_views(run, entity, others, to, "article"), "html": None, "subject": subject}


def parse(run: SiteRun, entity: Entity, article: Row) -> Parsed:
    """The article, read, with the claims of its audits at their sentences."""
    page = ArticlePage(article["wikitext"] or "", entity.name)
    checked_claims = checked(run.audits(entity.id))
    claims = [claim for one in checked_claims for claim in one.claims]
    claims_of: dict[int, list[ShownClaim]] = {}
    for claim, n in zip(claims, place([claim.text for claim in claims], page.sentences), strict=True):
        if n is not None:
            claims_of.setdefault(n, []).append(claim)
    return Parsed(page, checked_claims, claims_of)


def resolver(run: SiteRun, entity: Entity, to: Addresses) -> Callable[[str], Target]:
    """Where a linked name leads: to an article, to an entity that waits for one, or to why there is
    neither.
    """
    fate_of = {row["key"]: row for row in run.candidates(entity.id)}

    def resolve(name: str) -> Target:
        row = fate_of.get(canonical_key(name))
        number = row["entity_id"] if row is not None and row["entity_id"] is not None else run.number_of(name)
        linked = run.entity(number) if number is not None else None
        if linked is not None:
            return Target("plain", None, None) if linked.id == entity.id else _known(run, linked, name, to)
        if row is None:
            return Target("plain", None, None)
        anchor = f"candidate-{row['position']}"
        return Target(
            "red", to.trace(run.name, entity.id, entity.name, anchor), f"No article: {fates.reason(row)}"
        )

    return resolve


def _known(run: SiteRun, entity: Entity, name: str, to: Addresses) -> Target:
    href = to.article(run.name, entity.id, entity.name)
    if entity.written:
        return Target("article", href, entity.name if entity.name != name else None)
    failed = (subject := run.subject(entity.id)) is not None and subject["error"] is not None
    return Target("queued", href, f"{entity.name}: {'its article failed' if failed else 'not written yet'}")


def naming(run: SiteRun, entity: Entity) -> Naming | None:
    """The article that named an entity first, and its sentence."""
    parent = run.entity(entity.parent) if entity.parent is not None else None
    if parent is None:
        return None
    rows = run.candidates(parent.id)
    return Naming(parent, next((row["sentence"] for row in rows if row["entity_id"] == entity.id), None))


def tabs(run: SiteRun, entity: Entity, others: Sequence[SiteRun], to: Addresses, here: str) -> list[Tab]:
    """The views of an entity that this site has."""
    at = (run.name, entity.id, entity.name)
    hrefs: dict[str, tuple[str, str | None]] = {
        "article": ("Article", to.article(*at)),
        "trace": ("Behind this page", to.trace(*at)),
        "graph": ("Neighbourhood", to.graph(*at)),
    }
    other = next((o for o in others if (n := o.number_of(entity.name)) is not None and _written(o, n)), None)
    if other is not None and entity.written:  # else there is nothing to compare
        hrefs["compare"] = ("Compare", to.compare(*at, other.name))
    article = to.article(*at)  # is also the address of what a static site was made without
    return [
        Tab(label, href, name == here)
        for name, (label, href) in hrefs.items()
        if href is not None and (name == "article" or href != article)
    ]


def _written(run: SiteRun, number: int) -> bool:
    entity = run.entity(number)
    return entity is not None and entity.written


def article_views(
    run: SiteRun, entity: Entity, others: Sequence[SiteRun], to: Addresses, here: str
) -> Context:
    """What all views of an entity have in common."""
    children = run.children(entity.id)
    linking = run.parents_of_links(entity.id, _LINKING) or []  # none while they are still being gathered
    return {
        "run": run,
        "title": entity.name,
        "entity": entity,
        "path": run.path(entity.id),
        "aliases": run.aliases(entity.id),
        "naming": naming(run, entity),
        "children": children[:_CHILDREN],
        "more_children": max(0, len(children) - _CHILDREN),
        "linking": [e for e in linking if e.id != entity.parent],
        "tabs": tabs(run, entity, others, to, here),
    }
