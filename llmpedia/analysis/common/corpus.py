"""What a run's corpus looks like as a whole: size of its articles, and the canonical keys of its
subjects (paper, table 5).
"""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from llmpedia.errors import InputError
from llmpedia.store.kinds import RunKind
from llmpedia.store.run_folder import RunFolder

_COLUMNS = ["name", "words", "links", "outline", "sections_missing", "sections_extra"]


def corpus_means(run: RunFolder) -> dict[str, float | int | None]:
    """``articles``, and means an article of ``links`` (mentions counted), ``sections`` (level 2, as
    written) and ``words``.

    Links and sections are null of texts that were imported in a form that keeps none of any
    article.
    """
    rows = run.read("articles", columns=_COLUMNS)
    n = rows.num_rows
    lengths = {name: pc.sum(pc.list_value_length(rows[name])).as_py() or 0 for name in _COLUMNS[3:]}
    links = pc.sum(rows["links"]).as_py() or 0
    sections = lengths["outline"] - lengths["sections_missing"] + lengths["sections_extra"]
    written = run.kind != RunKind.IMPORTED
    return {
        "articles": n,
        "mean_links": round(links / n, 1) if n and (written or links) else None,
        "mean_sections": round(sections / n, 1) if n and (written or sections) else None,
        "mean_words": round(pc.mean(rows["words"]).as_py(), 1) if n else None,
    }


def written_subjects(run: RunFolder) -> pa.Table:
    """``subject_id`` and ``key`` of the subjects that have an article, in commit order; keys as the
    run has stored them.

    Raises:
        InputError: an article is of no entity.
    """
    subjects = run.read("articles", columns=["subject_id"])["subject_id"]
    entities = run.read("entities", columns=["entity_id", "key"])
    places = pc.index_in(subjects, value_set=entities["entity_id"])
    if places.null_count:
        lost = subjects.filter(pc.is_null(places))[0].as_py()
        raise InputError(
            f"{run.uri}: article of subject {lost} is of no entity; see llmpedia verify {run.uri}"
        )
    return pa.table({"subject_id": subjects, "key": entities["key"].take(places)})


def subject_keys(run: RunFolder) -> frozenset[str]:
    """Canonical keys of the subjects that have an article."""
    keys: list[Any] = written_subjects(run)["key"].to_pylist()
    return frozenset(keys)
