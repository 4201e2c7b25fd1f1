"""Where sheets lie, and what the pages of all kinds of sheets have in common."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from llmpedia.errors import InputError
from llmpedia.site.review.sheet import Given, SheetFile, SheetItem
from llmpedia.store.kinds import RunKind
from llmpedia.store.run_folder import RunFolder

Context = dict[str, Any]


@dataclass(frozen=True)
class Desk:
    """``folder``: where sheets lie, the only place that is written; ``probes``: builds by name;
    ``token``: of this process.
    """

    folder: Path
    probes: Mapping[str, RunFolder]
    token: str

    @classmethod
    def make(cls, folder: Path, probes: Mapping[str, RunFolder]) -> "Desk":
        """With a token of its own."""
        return cls(folder, probes, secrets.token_urlsafe(32))

    def names(self) -> list[str]:
        """Of the files there, sorted."""
        return (
            sorted(path.name for path in self.folder.iterdir() if path.is_file())
            if self.folder.is_dir()
            else []
        )


@dataclass(frozen=True)
class Opened:
    """A sheet as its pages show it. ``base``: address of its list; an item lies at its place below."""

    file: SheetFile
    base: str
    items: Sequence[SheetItem]

    @property
    def decided(self) -> int:
        """Items with an answer that counts."""
        return sum(item.decided for item in self.items)

    def href(self, item: SheetItem | None) -> str:
        """Address of an item; of none: of the list."""
        return self.base if item is None else f"{self.base}/{item.place}"

    def at(self, place: int) -> SheetItem | None:
        """An item by its place."""
        return self.items[place - 1] if 0 < place <= len(self.items) else None

    def open_after(self, place: int) -> SheetItem | None:
        """The next item without an answer that counts, from the beginning again after the last."""
        order = [*self.items[place:], *self.items[:place]]
        return next((item for item in order if not item.decided), None)

    def reviewer(self, item: SheetItem) -> str:
        """Who fills it, as the last row before it says that was filled."""
        before = [*self.items[item.place - 1 :], *self.items[: item.place - 1]]
        return next(
            (reviewer_name for other in reversed(before) if (reviewer_name := other.row.get("reviewer", ""))),
            "",
        )


def open_builds(uris: Sequence[str], names: Sequence[str]) -> dict[str, RunFolder]:
    """Builds of a probe by names that are safe in an address.

    Raises:
        InputError: one is no build.
    """
    builds = [RunFolder.open(uri) for uri in uris]
    for build in builds:
        if build.kind != RunKind.BUILD:
            raise InputError(
                f"--probe {build.uri}: is no build of a probe; give the folder of llmpedia probe build"
            )
    return dict(zip(names, builds, strict=True))


def sheet_views(opened: Opened, notes: Sequence[str]) -> Context:
    """What the lists of all sheets show."""
    locked = (
        "LibreOffice has this sheet open: close it there first, else what it saves replaces "
        "what is saved here."
    )
    return {
        "sheet": opened,
        "open_item": opened.open_after(0),
        "notes": [*notes, *([locked] if opened.file.opened_elsewhere() else [])],
    }


def item_views(opened: Opened, item: SheetItem, given: Given | None, notice: str | None) -> Context:
    """What the pages of all items show. ``given``: what was entered and is not saved; ``notice``:
    why.
    """
    answer = item.given
    if "reviewer" in opened.file.form.reader_columns and not answer.reviewer:
        answer = Given(answer.answer, answer.comment, opened.reviewer(item))
    return {
        **sheet_views(opened, []),
        "item": item,
        "given": given or answer,
        "notice": notice,
        "choices": opened.file.form.choices(item.row),
        "asks_reviewer": "reviewer" in opened.file.form.reader_columns,
        "before": opened.at(item.place - 1),
        "after": opened.at(item.place + 1),
    }
