"""What a run's corpus looks like as a whole: size of its articles, and the canonical keys of its subjects (paper, table 5)."""

from typing import Any

import pyarrow.compute as pc

from llmpedia.entities.keys import canonical_key
from llmpedia.store.runfolder import RunFolder

_COLUMNS = ["name", "words", "links", "outline", "sections_missing", "sections_extra"]


def corpus_means(run: RunFolder) -> dict[str, float | int | None]:
    """``articles``, and means an article of ``links`` (mentions counted), ``sections`` (level 2, as written) and ``words``."""
    rows = run.read("articles", columns=_COLUMNS)
    n = rows.num_rows
    lengths = {name: pc.sum(pc.list_value_length(rows[name])).as_py() or 0 for name in _COLUMNS[3:]}
    sections = lengths["outline"] - lengths["sections_missing"] + lengths["sections_extra"]
    return {
        "articles": n,
        "mean_links": round(pc.mean(rows["links"]).as_py(), 1) if n else None,
        "mean_sections": round(sections / n, 1) if n else None,
        "mean_words": round(pc.mean(rows["words"]).as_py(), 1) if n else None,
    }


def subject_keys(run: RunFolder) -> frozenset[str]:
    """Canonical keys of the subjects that have an article."""
    names: list[Any] = run.read("articles", columns=["name"])["name"].to_pylist()
    return frozenset(map(canonical_key, names))
