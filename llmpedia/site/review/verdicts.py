"""Verdicts of an audit before a human reader: the draw and the sheet of ``llmpedia audit
sample-for-review``, a page an item.

A sheet's name says what was drawn, so that whoever starts again goes on with it:
``RUN.AUDIT.TIER.33.seed42[.hidden].csv``.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from llmpedia.audit.audit_folder import review_rows
from llmpedia.audit.review import (
    READER_COLUMNS,
    agreement_by_tier,
    human_class,
    judge_verdicts,
    key_path,
    read_sheet,
    write_sheet,
)
from llmpedia.audit.stages import LABELS
from llmpedia.errors import InputError, LlmpediaError
from llmpedia.optional_deps import need_extra
from llmpedia.review_csv import read_rows
from llmpedia.site.data.audits import SiteAudit
from llmpedia.site.data.run_reader import Entity, SiteRun
from llmpedia.site.pages.claim_alignment import place
from llmpedia.site.pages.claim_views import TIERS, WORDS, safe_link
from llmpedia.site.pages.views import Bit
from llmpedia.site.review.sheet import Choice, Given, SheetFile, SheetItem, State, locked, put_together
from llmpedia.site.review.store import Desk, Opened, item_views, sheet_views
from llmpedia.site.urls import Addresses
from llmpedia.site.wikitext.page import ArticlePage
from llmpedia.store.run_folder import RunFolder
from llmpedia.text.passages import cut_passages, rankings

Context = dict[str, Any]
Row = dict[str, Any]

PAPER = {"wikipedia": 33, "web": 10}
"""Rows of each verdict (paper, section 4.3)."""
_NAME = re.compile(r"([^.]+)\.(wikipedia|web)\.(\d+(?:-\d+-\d+)?)\.seed(\d+)(\.hidden)?\.csv")
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
_MOST_ROWS = 10_000
_MOST_SEED = 2**63 - 1
_AUDIT_CHARS = 80
_NEAR_WORDS = 30
_NEAR_CHARS = 400
_SHOWN = ("item", "tier", "subject", "claim", "evidence_1")
_JUDGED = ("judge_verdict", "judge_error_type", "judge_confidence", "judge_explanation")
_KEYS = ("1 a", "2 s", "3 d")
_NEIGHBOURS = 2


@dataclass(frozen=True)
class Draw:
    """What a sheet is drawn from. ``numbers``: rows of each verdict; 0: none."""

    audit: str
    tier: str
    numbers: tuple[int, ...]
    seed: int
    hidden: bool

    @property
    def key(self) -> str:
        """Its name in addresses."""
        counts = "-".join(map(str, self.numbers if len(set(self.numbers)) > 1 else self.numbers[:1]))
        return (
            f"{_file_name(self.audit)}.{self.tier}.{counts}.seed{self.seed}{'.hidden' if self.hidden else ''}"
        )

    @property
    def title(self) -> str:
        """What people call it."""
        alike = len(set(self.numbers)) == 1
        counted = zip(self.numbers, LABELS, strict=True)
        counts = (
            f"{self.numbers[0]} of each"
            if alike
            else ", ".join(f"{n} {WORDS[label].lower()}" for n, label in counted if n)
        )
        hidden = ", verdicts hidden" if self.hidden else ""
        return f"{self.audit}, {TIERS[self.tier]}: {counts}, seed {self.seed}{hidden}"

    @classmethod
    def asked(cls, run: SiteRun, fields: Mapping[str, str]) -> "Draw":
        """Of a filled form.

        Raises:
            InputError: an entry is none that can be drawn from.
        """
        audit = fields.get("audit", "")
        tier = fields.get("tier", "")
        if audit not in run.audit_names or tier not in PAPER:
            raise InputError(
                f"audit {audit!r}, tier {tier!r}: is not here; choose one of those that are shown"
            )
        numbers = tuple(_number(fields, label, _MOST_ROWS) for label in LABELS)
        if not any(numbers):
            raise InputError(f"numbers {numbers}: none asked for; give at least one verdict a number")
        return cls(audit, tier, numbers, _number(fields, "seed", _MOST_SEED), "hidden" in fields)


def _number(fields: Mapping[str, str], name: str, most: int) -> int:
    text = fields.get(name, "").strip()
    if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) <= most):
        raise InputError(f"{name} = {text[:20]!r}: must be a whole number from 0 to {most}; correct it")
    return int(text)


def _file_name(audit: str) -> str:
    safe = _UNSAFE.sub("-", audit)[:_AUDIT_CHARS]
    return safe if safe == audit else f"{safe}-{hashlib.sha256(audit.encode()).hexdigest()[:8]}"


class VerdictForm:
    """Asks for the class of a claim; whether the reader agrees follows from it. ``judge``: item ->
    the judge's class.
    """

    id_column = "item"

    def __init__(self, hidden: bool, judge: Mapping[str, str]) -> None:
        self.hidden = hidden
        self._judge = judge
        self.columns: Sequence[str] = (*_SHOWN, *(() if hidden else _JUDGED))
        self.reader_columns: Sequence[str] = READER_COLUMNS[1:] if hidden else READER_COLUMNS

    def choices(self, row: Row) -> list[Choice]:
        """The three classes; with the judge's beside, where it is shown."""
        judge = None if self.hidden else self._of(row)
        hints = {
            label: "" if judge is None else "I agree" if label == judge else "I disagree" for label in LABELS
        }
        offered = [
            Choice(label, WORDS[label], hints[label], keys) for label, keys in zip(LABELS, _KEYS, strict=True)
        ]
        return [*offered, Choice("", "Not decided yet", "", "0 x")]

    def state(self, row: Row) -> State:
        """See :class:`Form`."""
        if not any(row[name].strip() for name in self.reader_columns if name != "comment"):
            return State("")
        human, problem = human_class(row, self._of(row), self.hidden)
        return State(human or "", problem)

    def cells(self, row: Row, given: Given) -> dict[str, str]:
        """See :class:`Form`."""
        if self.hidden:
            return {"correct_verdict": given.answer, "comment": given.comment}
        agrees = given.answer == self._of(row)
        agree = "" if not given.answer else "yes" if agrees else "no"
        return {"agree": agree, "correct_verdict": "" if agrees else given.answer, "comment": given.comment}

    def _of(self, row: Row) -> str | None:
        return self._judge.get(row["item"]) if self.hidden else row["judge_verdict"].strip().lower()


@dataclass(frozen=True)
class AuditSheet:
    """A sheet, opened, with the audit that it is of."""

    run: SiteRun
    audit: SiteAudit
    draw: Draw
    opened: Opened


# --- which sheets there are


def drawn(run: SiteRun, desk: Desk) -> list[Draw]:
    """The sheets of a run's audits that were begun."""
    audits = {_file_name(name): name for name in run.audit_names}
    draws = []
    for name in desk.names():
        match = _NAME.fullmatch(name.removeprefix(f"{run.name}."))
        if match is None or match[1] not in audits:
            continue
        numbers = tuple(int(n) for n in match[3].split("-"))
        all_numbers = numbers if len(numbers) > 1 else numbers * len(LABELS)
        draw = Draw(audits[match[1]], match[2], all_numbers, int(match[4]), bool(match[5]))
        if _sheet_name(run, draw) == name:  # neither another run's, nor 033 for 33
            draws.append(draw)
    return draws


def open_sheet(run: SiteRun, desk: Desk, key: str, to: Addresses) -> AuditSheet | None:
    """A sheet that was begun, by its name in addresses; None: there is none.

    Raises:
        InputError: it is of another audit, or damaged.
    """
    draw = next((draw for draw in drawn(run, desk) if draw.key == key), None)
    if draw is None:
        return None
    audit = _audit(run, draw.audit)
    path = desk.folder / _sheet_name(run, draw)
    judge = judge_verdicts(key_path(path), read_rows(key_path(path))) if draw.hidden else {}
    file = SheetFile(desk.folder, path.name, VerdictForm(draw.hidden, judge))
    items = file.items()
    _check_origin(path, items, audit)
    return AuditSheet(run, audit, draw, Opened(file, f"{to.review(run.name)}/{key}", items))


def begin(run: SiteRun, desk: Desk, draw: Draw) -> None:
    """Draw and write a sheet, as the command does; one that is there stays.

    Raises:
        InputError: there is nothing to draw, or it cannot be written.
    """
    name = _sheet_name(run, draw)
    with locked(desk.folder):
        if (desk.folder / name).exists():
            return
        balanced: dict[str, int] = {label: n for label, n in zip(LABELS, draw.numbers, strict=True) if n}
        rows = review_rows(_audit(run, draw.audit).run, draw.tier)
        with put_together(desk.folder) as scratch:
            write_sheet(rows, scratch / name, balanced, draw.seed, draw.hidden)


def _sheet_name(run: SiteRun, draw: Draw) -> str:
    return f"{run.name}.{draw.key}.csv"


def _audit(run: SiteRun, name: str) -> SiteAudit:
    return next(audit for audit in run.site_audits if audit.name == name)


def _check_origin(path: Path, items: list[SheetItem], audit: SiteAudit) -> None:
    """Two runs may bear one name, one after the other."""
    claims = _read(audit.run).claims
    for item in items:
        claim = claims.get(_claim_number(item))
        if claim is None or claim[1].split() != item.row["claim"].split():
            raise InputError(
                f"{path}: item {item.id} is no claim of audit {audit.run.uri}; move the file away, "
                f"or give other --sheets"
            )


# --- what an audit holds


@dataclass(frozen=True)
class _Audited:
    """``claims``: id -> (subject, text); ``of_subject``: subject -> ids; ``counts``: (tier,
    verdict) -> how many.
    """

    claims: dict[int, tuple[int, str]]
    of_subject: dict[int, list[int]]
    counts: Counter[tuple[str, str]]


@lru_cache(maxsize=16)
def _read(audit: RunFolder) -> _Audited:
    rows = audit.read("claims", columns=["claim_id", "subject_id", "text"]).to_pylist()
    of_subject: dict[int, list[int]] = {}
    for row in rows:
        of_subject.setdefault(row["subject_id"], []).append(row["claim_id"])
    verdicts = audit.read("verdicts", columns=["tier", "verdict"]).to_pylist()
    counts = Counter((row["tier"], row["verdict"]) for row in verdicts)
    return _Audited({row["claim_id"]: (row["subject_id"], row["text"]) for row in rows}, of_subject, counts)


def _claim_number(item: SheetItem) -> int:
    number = item.id.rpartition(":")[2]
    return int(number) if number.isascii() and number.isdigit() and len(number) < 20 else -1


# --- pages


def review_page(run: SiteRun, desk: Desk, to: Addresses) -> Context:
    """What can be reviewed, and what was begun."""
    begun = []
    for draw in drawn(run, desk):
        sheet: AuditSheet | None = None
        problem = None
        try:
            sheet = open_sheet(run, desk, draw.key, to)
        except InputError as e:  # one sheet that is damaged leaves the others as they are
            problem = str(e)
        begun.append({"title": draw.title, "sheet": sheet.opened if sheet else None, "problem": problem})
    offers = [
        {
            "audit": audit.name,
            "tier": tier,
            "counts": [(label, WORDS[label], counts[tier, label]) for label in LABELS],
        }
        for audit in run.site_audits
        for counts in (_read(audit.run).counts,)
        for tier in PAPER
        if any(counts[tier, label] for label in LABELS)
    ]
    builds = [(name, f"/probe/{name}/review") for name in desk.probes]
    return {
        "run": run,
        "title": "Review",
        "begun": begun,
        "offers": offers,
        "paper": PAPER,
        "tiers": TIERS,
        "builds": builds,
        "action": to.review(run.name),
        "desk": desk,
    }


def sheet_page(sheet: AuditSheet, to: Addresses) -> Context:
    """All items of a sheet with what was decided; at its end the agreement."""
    opened = sheet.opened
    draw = sheet.draw
    asked = sum(draw.numbers)
    notes = [f"{asked} rows were asked for; the audit has {len(opened.items)} of these verdicts."]
    whole = opened.decided == len(opened.items)
    tables, problem = agreement_of(opened.file.path) if whole else ([], None)
    return {
        "run": sheet.run,
        **sheet_views(opened, notes if asked > len(opened.items) else []),
        "title": f"Review: {draw.title}",
        "heading": draw.title,
        "back": to.review(sheet.run.name),
        "command": f"llmpedia audit agreement {opened.file.path}",
        "lines": [
            {
                "item": item,
                "label": item.row["subject"],
                "text": item.row["claim"],
                "answer": WORDS.get(item.state.answer, ""),
                "kind": item.state.answer,
                "judge": None if draw.hidden else WORDS.get(item.row["judge_verdict"], ""),
            }
            for item in opened.items
        ],
        "tables": tables,
        "problem": problem,
        "words": WORDS,
        "labels": LABELS,
    }


def agreement_of(path: Path) -> tuple[list[tuple[str, Any]], str | None]:
    """(tier, agreement) as ``llmpedia audit agreement`` has it, or why there is none."""
    try:
        need_extra("audit")
        return [
            (TIERS.get(tier, tier), agreement)
            for tier, agreement in agreement_by_tier(read_sheet(path)).items()
        ], None
    except LlmpediaError as e:
        return [], str(e)


def claim_page(
    sheet: AuditSheet, item: SheetItem, to: Addresses, given: Given | None, notice: str | None
) -> Context:
    """One claim: the article's sentence, the evidence as the judge had it, what the judge said."""
    draw = sheet.draw
    row = item.row
    number = _claim_number(item)
    subject = _read(sheet.audit.run).claims[number][0]
    evidence = "".join(
        row[name] for name in row if isinstance(name, str) and re.fullmatch(r"evidence_\d+", name)
    )
    of_audit = sheet.audit.of(subject)
    sources = [
        source
        for e in (of_audit.evidence if of_audit else [])
        if e["tier"] == draw.tier
        for source in e["sources"] or ()
    ]
    return {
        "run": sheet.run,
        **item_views(sheet.opened, item, given, notice),
        "title": f"{row['subject']}: claim to review",
        "heading": draw.title,
        "hidden": draw.hidden,
        "tier": TIERS[draw.tier],
        "context": _context(sheet, subject, number, to),
        "evidence": nearest(row["claim"], evidence),
        "sources": [
            {
                "title": s["title"] or s["url"],
                "href": safe_link(s["url"] or ""),
                "revision": s["revision"],
                "at": s["fetched_at"],
            }
            for s in sources
        ],
        "judge": None if draw.hidden else _judged(row),
    }


def _judged(row: Row) -> Row:
    verdict = row["judge_verdict"].strip().lower()
    judged = {
        "verdict": verdict,
        "word": WORDS.get(verdict, verdict),
        "explanation": row["judge_explanation"],
    }
    return {
        **judged,
        "error_type": row["judge_error_type"].replace("_", " "),
        "confidence": _short(row["judge_confidence"]),
    }


def _short(number: str) -> str:
    """A number of a cell for people; what is none as it stands there."""
    try:
        return f"{float(number):.2f}"
    except ValueError:
        return number


@dataclass(frozen=True)
class InText:
    """Where a claim stands. ``href``: null where the article would tell verdicts that are hidden;
    ``bits``: its sentences.
    """

    entity: Entity
    href: str | None
    bits: list[Bit]


def _context(sheet: AuditSheet, subject: int, number: int, to: Addresses) -> InText | None:
    run = sheet.run
    entity = run.entity(subject)
    article = run.article(subject)
    if entity is None or article is None:
        return None
    audited = _read(sheet.audit.run)
    ids = audited.of_subject[subject]
    sentences = ArticlePage(article["wikitext"] or "", entity.name).sentences
    at = place([audited.claims[n][1] for n in ids], sentences)[ids.index(number)]
    first = 0 if at is None else max(0, at - _NEIGHBOURS)
    around = [] if at is None else sentences[first : at + _NEIGHBOURS + 1]
    bits = [bit for i, text in enumerate(around) for bit in (Bit(text, first + i == at), Bit(" ", hit=False))]
    anchor = "" if at is None else f"s{at}"
    return InText(
        entity, None if sheet.draw.hidden else to.article(run.name, entity.id, entity.name, anchor), bits
    )


def nearest(claim: str, text: str) -> list[Bit]:
    """The text in pieces; the passage that bears most on the claim is a hit."""
    passages = cut_passages(text, _NEAR_WORDS, _NEAR_CHARS) if text else []
    ranked = rankings([passage.text for passage in passages], [claim])[0]
    if not ranked:
        return [Bit(text, hit=False)]
    hit = passages[ranked[0]]
    parts = (
        Bit(text[: hit.start], hit=False),
        Bit(hit.text.rstrip(), hit=True),
        Bit(text[hit.start + len(hit.text.rstrip()) :], hit=False),
    )
    return [bit for bit in parts if bit.text]
