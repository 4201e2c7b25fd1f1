"""Which articles of a run are audited: seeded draws that are saved with the audit (paper, section
4.2, 5.2 and appendix K).

A draw orders subjects by a hash of (seed, stratum, key of the subject), so that it depends neither
on the order nor on the number of the others: a longer sample of the same seed holds the shorter
one.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from llmpedia.audit.evidence import Evidence, Outcome
from llmpedia.audit.settings import SampleSection
from llmpedia.entities.keys import canonical_key
from llmpedia.errors import InputError
from llmpedia.store.run_folder import RunFolder

_PROBED_AT_ONCE = 200


@dataclass(frozen=True)
class AuditableArticle:
    """An article of the run, without its text."""

    subject_id: int
    name: str
    hop: int
    run_wave: int


@dataclass
class Sampled:
    """An article of the sample and the strata it was drawn for."""

    article: AuditableArticle
    strata: list[str] = field(default_factory=list)


def articles_of(run: RunFolder, waves: int) -> list[AuditableArticle]:
    """Articles of the first ``waves`` commits of a run, in commit order."""
    articles = []
    for wave in range(waves):
        rows = run.read("articles", [wave], ["subject_id", "name", "hop"]).to_pylist()
        articles += [AuditableArticle(row["subject_id"], row["name"], row["hop"], wave) for row in rows]
    return articles


def draw(articles: list[AuditableArticle], seed: int, stratum: str) -> list[AuditableArticle]:
    """All of the articles in the order in which a stratum takes them."""

    def place(article: AuditableArticle) -> bytes:
        return hashlib.sha256(f"{seed}\x1f{stratum}\x1f{canonical_key(article.name)}".encode()).digest()

    return sorted(articles, key=place)


async def sample(
    articles: list[AuditableArticle], settings: SampleSection, look_up: Callable[[str], Awaitable[Evidence]]
) -> tuple[list[Sampled], list[str]]:
    """The sample in commit order, and what could not be drawn as asked for, in words.

    Args:
        articles: all of the run's.
        settings: what to draw.
        look_up: tier 1's evidence on a subject; asked for the frontier only.

    Raises:
        InputError: the file of titles cannot be read, or nothing is left to sample.
    """
    chosen: dict[int, Sampled] = {}
    notes: list[str] = []

    def take(stratum: str, drawn: list[AuditableArticle], wanted: int | None) -> None:
        for article in drawn:
            chosen.setdefault(article.subject_id, Sampled(article)).strata.append(stratum)
        if wanted is not None and len(drawn) < wanted:
            notes.append(f"sample {stratum}: {len(drawn)} of {wanted} asked for; the run has no more")

    if settings.random:
        take("random", draw(articles, settings.seed, "random")[: settings.random], settings.random)
    if settings.hop_whole is not None:
        take("hop", _by_hop(articles, settings), None)
    if settings.frontier:
        absent, failed = await _frontier(articles, settings, look_up)
        take("frontier", absent, settings.frontier)
        if failed:
            notes.append(f"sample frontier: {failed} subjects passed over, since they could not be looked up")
    if settings.titles:
        titles = read_titles(settings.titles)
        take("titles", [a for a in articles if canonical_key(a.name) in titles], len(titles))
    if not chosen:
        raise InputError(
            "the sample is empty: no article of the run fits; run more of it, or change the "
            "settings under sample:"
        )
    return sorted(chosen.values(), key=lambda s: (s.article.run_wave, s.article.subject_id)), notes


def _by_hop(articles: list[AuditableArticle], settings: SampleSection) -> list[AuditableArticle]:
    """Every article of hops up to ``hop_whole``, ``hop_each`` of each later hop."""
    assert settings.hop_whole is not None
    drawn = []
    for hop in sorted({a.hop for a in articles}):
        there = draw([a for a in articles if a.hop == hop], settings.seed, f"hop {hop}")
        drawn += there if hop <= settings.hop_whole else there[: settings.hop_each]
    return drawn


async def _frontier(
    articles: list[AuditableArticle], settings: SampleSection, look_up: Callable[[str], Awaitable[Evidence]]
) -> tuple[list[AuditableArticle], int]:
    """The first subjects of a draw that Wikipedia lacks, and how many could not be looked up."""
    missing: list[AuditableArticle] = []
    failed = 0
    order = draw(articles, settings.seed, "frontier")
    for start in range(0, len(order), _PROBED_AT_ONCE):
        some = order[start : start + _PROBED_AT_ONCE]
        evidence = await asyncio.gather(*(look_up(a.name) for a in some))
        missing += [a for a, e in zip(some, evidence, strict=True) if e.outcome == Outcome.MISSING]
        failed += sum(e.outcome == Outcome.FETCH_FAILED for e in evidence)
        if len(missing) >= settings.frontier:
            break
    return missing[: settings.frontier], failed


def read_titles(path: str) -> set[str]:
    """Canonical keys of a file's titles.

    Raises:
        InputError: it cannot be read or holds none.
    """
    return set(map(canonical_key, title_lines(path, "sample.titles")))


def title_lines(path: str, setting: str) -> list[str]:
    """A file's titles, one a line; lines that begin with # are comments. ``setting``: what named
    the file.

    Raises:
        InputError: it cannot be read or holds none.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as e:
        raise InputError(
            f"{setting} = {path!r}: cannot be read ({e}); give a UTF-8 text file, one title a line"
        ) from e
    titles = [" ".join(line.split()) for line in lines if line.strip() and not line.startswith("#")]
    if not titles:
        raise InputError(f"{setting} = {path!r}: holds no title; write one a line")
    return titles
