"""``llmpedia import``: another encyclopedia's texts as a run folder, wave by wave; resumes an
import that is there.

The folder is one of a walk in mode titles, of kind ``imported``: every title is an entity and a
subject, every text an article, and in place of completions each article has its source. A title
without a text is a subject with an error. Where sources can change (a site), another start asks
once more for what could not be had, and commits what there is now.
"""

import asyncio
import hashlib
import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from llmpedia.audit.sampling import title_lines
from llmpedia.engines.packaged_weights import cache_dir
from llmpedia.entities.keys import canonical_key
from llmpedia.errors import ConfigError, InputError
from llmpedia.execution.job import Job, OnProgress, Progress, open_job
from llmpedia.execution.provenance import versions_now
from llmpedia.importing.formats import FORMS, Form, as_wikitext
from llmpedia.importing.site import TITLE, SiteSettings, SiteTexts
from llmpedia.importing.sources import Absent, Columns, FileTexts, FolderTexts, Text, Texts
from llmpedia.store.kinds import RunKind
from llmpedia.store.run_folder import FORMAT, RUN_FILE, RunFolder
from llmpedia.store.verify import imbalances
from llmpedia.tables import TABLES, Fate, table
from llmpedia.wikitext import Article

Row = dict[str, Any]
Rows = list[Row]

_STAGE = "import"
# Titles a commit.
_WAVE = 500


@dataclass(frozen=True)
class ImportSettings:
    """``texts``: a file, a folder, or an address with ``{title}``; ``titles``: a file, null for all
    that the texts have.

    ``name``: of the encyclopedia, as a model's. ``form``: of the texts; null goes by files'
    endings, else plain text. The last five are of addresses alone, see
    :class:`~llmpedia.importing.site.SiteSettings`.
    """

    texts: str
    titles: str | None
    name: str
    form: Form | None = None
    columns: Columns = field(default_factory=Columns)
    contact: str | None = None
    space: str = "_"
    every_s: float = 1.0
    cache: str | None = None
    allow_loopback: bool = False

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise ConfigError(
                "--name: empty: tables call the encyclopedia by it; give a name such as grokipedia"
            )
        if self.form is not None and self.form not in FORMS:
            raise ConfigError(f"--form = {self.form!r}: must be one of {', '.join(FORMS)}")


def import_texts(
    settings: ImportSettings,
    run_uri: str,
    progress: OnProgress,
    texts: Texts | None = None,
) -> RunFolder:
    """Read texts into a run; resumes what is already there. ``texts``: in place of what the
    settings open.

    Raises: ConfigError, InputError, EngineError: one line; what was committed stays, and the same
        call resumes.
    """
    there = RunFolder(run_uri)
    if there.folder.exists(RUN_FILE) and there.kind != RunKind.IMPORTED:
        what = "a walk" if there.kind == RunKind.WALK else f"what is of kind {there.kind}"
        raise InputError(f"{run_uri}: holds {what}, not an import; give another --run")
    listed = title_lines(settings.titles, "--titles") if settings.titles else None
    source = texts or open_texts(settings, listed)
    titles = listed if listed is not None else _all_titles(source, settings)
    with open_job(run_uri, describe_import(settings, source, titles)) as job:
        asyncio.run(_Import(job, source, settings.name, progress).run(titles))
    return job.run


def open_texts(settings: ImportSettings, titles: list[str] | None) -> Texts:
    """The source that the settings name.

    Raises:
        ConfigError, InputError: it cannot be had.
    """
    if "://" in settings.texts or TITLE in settings.texts:
        if titles is None:
            raise ConfigError(
                f"--titles: missing: {settings.texts} does not tell what it has; give a file, one "
                f"title a line"
            )
        cache = Path(settings.cache).expanduser() if settings.cache else cache_dir() / "imports"
        form = settings.form or "text"
        loopback = settings.allow_loopback
        return SiteTexts(
            SiteSettings(
                settings.texts, settings.contact, cache, settings.space, settings.every_s, form, loopback
            )
        )
    path = Path(settings.texts)
    if path.is_dir():
        return FolderTexts(path, settings.form, titles)
    if not path.is_file():
        raise InputError(
            f"TEXTS = {settings.texts!r}: no such file or folder; give one, or an address with {TITLE}"
        )
    return FileTexts(path, settings.columns, settings.form or "text", titles)


def _all_titles(source: Texts, settings: ImportSettings) -> list[str]:
    titles: list[str] = getattr(source, "titles", [])
    if not titles:
        raise InputError(f"TEXTS = {settings.texts!r}: holds no text with a title; give other texts")
    return titles


def describe_import(settings: ImportSettings, source: Texts, titles: list[str]) -> Row:
    """What ``run.yaml`` holds, in the form of a walk's: what a walk has and an import has not is
    null.
    """
    unknown = dict.fromkeys(("seed", "root_topic", "persona", "prompting", "self_grounding", "examples"))
    identity = {
        "run": {**unknown, "mode": "titles"},
        "engine": {"kind": RunKind.IMPORTED.value, "model": settings.name},
        "stages": {},
        "waves": {"size": _WAVE},
        "import": source.identity,
    }
    return {
        "format": FORMAT,
        "kind": RunKind.IMPORTED.value,
        "identity_hash": hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest(),
        "identity": identity,
        "config": {"texts": settings.texts, "titles": settings.titles, "name": settings.name},
        "seeds": titles,
        "prompts": {},
        "versions": versions_now(),
    }


class _Import:
    """The loop over waves of titles."""

    def __init__(self, job: Job, source: Texts, name: str, progress: OnProgress) -> None:
        self._job = job
        self._run = job.run
        self._source = source
        self._name = name
        self._progress = progress

    async def run(self, titles: list[str]) -> None:
        try:
            if self._run.last_wave < 0:
                self._commit(seed_tables(titles), {"notes": self._source.notes})
            entities = self._run.read("entities", [0], ["entity_id", "name"]).to_pylist()
            errors = self._errors()
            left = [row for row in entities if row["entity_id"] not in errors]
            self._told = len(entities) - len(left), len(entities)
            if not left and self._source.may_change:
                await self._once_more([row for row in entities if errors[row["entity_id"]] is not None])
            for start in range(0, len(left), _WAVE):
                some = left[start : start + _WAVE]
                self._commit(wave_tables(some, await self._read(some)), {})
        finally:
            await self._source.close()

    def _errors(self) -> dict[int, str | None]:
        """Subject -> its error, of the last visit."""
        rows = self._run.read("subjects", columns=["subject_id", "error"])
        return dict(zip(rows["subject_id"].to_pylist(), rows["error"].to_pylist(), strict=True))

    async def _read(self, entities: Rows) -> list[Text | Absent]:
        done, total = self._told
        texts = []
        for row in entities:
            texts.append(await self._source.get(row["name"]))
            done += 1
            self._progress(Progress("reading", done, total))
        self._told = done, total
        return texts

    async def _once_more(self, failed: Rows) -> None:
        """Commit what can be had now; what still cannot stays as it is."""
        self._told = self._told[1] - len(failed), self._told[1]
        for start in range(0, len(failed), _WAVE):
            some = failed[start : start + _WAVE]
            now = list(zip(some, await self._read(some), strict=True))
            got = [(row, text) for row, text in now if isinstance(text, Text)]
            if got:
                self._commit(wave_tables([row for row, _ in got], [text for _, text in got]), {})

    def _commit(self, tables: dict[str, pa.Table], more: Row) -> None:
        self._job.commit(tables, {**facts_of(tables, self._run.totals), **more})


def seed_tables(titles: list[str]) -> dict[str, pa.Table]:
    """Commit 0: each title a candidate without a parent, and an entity unless one before it has its
    key.
    """
    known: dict[str, int] = {}
    entities = Rows()
    candidates = Rows()
    for number, title in enumerate(titles):
        key = canonical_key(title)
        fate = Fate.WAVE_DUPLICATE if key in known else Fate.QUEUED
        n = known.setdefault(key, len(entities))
        named = {"key": key, "name": title}
        fields = {"candidate_id": number, "position": number, "mentions": 0, "fate": fate, "entity_id": n}
        candidates.append(dict.fromkeys(TABLES["candidates"].names) | named | fields)
        if fate == Fate.QUEUED:
            entities.append(dict.fromkeys(TABLES["entities"].names) | named | {"entity_id": n, "hop": 0})
    return _tables({"entities": entities, "candidates": candidates})


def wave_tables(entities: Rows, texts: list[Text] | list[Text | Absent]) -> dict[str, pa.Table]:
    """A commit of subjects: an article and its source each, or the reason why there is none."""
    subjects = Rows()
    articles = Rows()
    imports = Rows()
    for position, (entity, text) in enumerate(zip(entities, texts, strict=True)):
        subject = {"subject_id": entity["entity_id"], "name": entity["name"], "hop": 0}
        error = text.reason if isinstance(text, Absent) else None
        fields = {"position": position, "visit": "generate", "error": error, "error_stage": error and _STAGE}
        subjects.append({**subject, **fields, "expanded": False, "candidates": 0})
        if isinstance(text, Text):
            articles.append({**dict.fromkeys(TABLES["articles"].names), **subject, **_article(text)})
            kept = {name: getattr(text, name) for name in ("source", "title", "form", "sha256", "fetched_at")}
            imports.append({"subject_id": entity["entity_id"], **kept})
    return _tables({"subjects": subjects, "articles": articles, "imports": imports})


def _article(text: Text) -> Row:
    wikitext = as_wikitext(text.text, text.form)
    article = Article(wikitext)
    return {
        "wikitext": wikitext,
        "lead": article.lead,
        "words": article.words,
        "links": len(article.links),
        "other_links": article.other_links,
        "outline": [],
        "sections_missing": [],
        "sections_extra": list(dict.fromkeys(h.title for h in article.headings if h.level == 2)),
    }


def _tables(rows: dict[str, Rows]) -> dict[str, pa.Table]:
    names = ("entities", "subjects", "articles", "candidates", "aliases", "completions", "imports")
    return {name: table(name, rows.get(name, [])) for name in names}


def facts_of(tables: dict[str, pa.Table], before: Row) -> Row:
    """What a manifest says, in the form of a walk's. Raises ``AssertionError`` if rows do not add
    up.
    """
    rows = {name: of_table.to_pylist() for name, of_table in tables.items()}
    counts = {
        "subjects": len(rows["subjects"]),
        "articles": len(rows["articles"]),
        "errored": sum(row["error"] is not None for row in rows["subjects"]),
        "candidates": len(rows["candidates"]),
        "fates": dict(sorted(Counter(str(row["fate"]) for row in rows["candidates"]).items())),
    }
    wrong = list(imbalances(counts, rows))
    if wrong:
        raise AssertionError(f"the wave does not add up: {'; '.join(wrong)}")
    totals = {name: before.get(name, 0) + of_table.num_rows for name, of_table in tables.items()}
    caps = dict.fromkeys(("depth", "subjects", "articles"))
    return {"hop": 0, "screened_upto": -1, "caps": caps, "counts": counts, "totals": totals}
