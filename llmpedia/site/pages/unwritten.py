"""Entities without an article on shared pages: a static site has no page for each of them, since
there are several an article.
"""

from collections.abc import Sequence
from typing import Any

from llmpedia.site.data.run_reader import SiteRun


def unwritten_page(run: SiteRun, numbers: Sequence[int]) -> dict[str, Any]:
    """Entities that wait for an article, each with the one that named it."""
    waiting = run.entities(numbers)
    shown = [{"entity": e, "parent": run.entity(e.parent) if e.parent is not None else None} for e in waiting]
    return {"run": run, "title": "Not written yet", "waiting": shown}
