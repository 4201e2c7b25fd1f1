"""A report's folder holds one report: ``report.json`` names its files, so that the next one into it
leaves none of them over.
"""

import json
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from llmpedia.errors import InputError

MANIFEST = "report.json"


@contextmanager
def report_folder(folder: Path, names: Collection[str]) -> Iterator[None]:
    """Around the writing of a report's files ``names``; those of an earlier report that are not
    among them are removed.

    Until all are written the manifest names both, so that a report that was ended half way is known
    for one.

    Raises:
        InputError: the folder holds other things than a report.
    """
    earlier = earlier_files(folder)
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder, {*earlier, *names})
    yield
    for name in sorted(earlier - {*names, MANIFEST}):
        (folder / name).unlink(missing_ok=True)
    _write(folder, names)


def earlier_files(folder: Path) -> set[str]:
    """Files of the report that lies in the folder; hidden files are nobody's.

    Raises:
        InputError: the folder holds other things than a report.
    """
    if not folder.exists():
        return set()
    if not folder.is_dir():
        raise InputError(f"--out = {str(folder)!r}: is a file; give a folder")
    there = {path.name for path in folder.iterdir() if not path.name.startswith(".")}
    present = _named(folder / MANIFEST) & {path.name for path in folder.iterdir() if path.is_file()}
    if others := sorted(there - present):
        raise InputError(
            f"--out = {str(folder)!r}: holds {others[0]!r}, which no report has written; give a "
            f"new folder, or an old report's"
        )
    return present


def _named(manifest: Path) -> set[str]:
    """The manifest's own name among them; none where it is not one of ours."""
    try:
        files = json.loads(manifest.read_text(encoding="utf-8"))["files"]
        return {MANIFEST, *map(str, files)}
    except (OSError, ValueError, KeyError, TypeError):
        return set()


def _write(folder: Path, names: Collection[str]) -> None:
    listed = {"files": sorted({*names} - {MANIFEST})}
    (folder / MANIFEST).write_text(json.dumps(listed, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
