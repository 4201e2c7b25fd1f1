"""A run as it may leave this machine: private information masked in every text, evidence without
the texts of others.
"""

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from llmpedia.entities.keys import canonical_key
from llmpedia.site.data.row_reader import OpenTables, Row, WaveTables
from llmpedia.site.export.pii import masked
from llmpedia.store.run_folder import RunFolder

# Names of things inside of the run, which other rows refer to.
_REFERENCES = frozenset(
    "key fate visit tier outcome verdict completion outline_completion ner_completion arbitration_completion "
    "claims_completion sha256 form stage model finish_reason sampling fetched_at revision provider "
    "how".split()
)
# The judge is asked about claims with the evidence in the question.
_ASKED_WITH_EVIDENCE = "verdict"
_LEFT_OUT = json.dumps([{"role": "user", "content": "(left out: it holds passages of the sources)"}])


class MaskedTables(WaveTables):
    """Tables whose texts have passed the private-information filter. ``with_evidence``: keep the
    texts of sources.
    """

    def __init__(self, run: RunFolder, mask: bool, with_evidence: bool) -> None:
        super().__init__(run)
        self._mask = mask
        self._with_evidence = with_evidence

    def columns(self, table: str, wave: int, names: list[str]) -> pa.Table:
        """See :class:`WaveTables`."""
        rows = super().columns(table, wave, names)
        if not self._mask or "name" not in names:
            return rows
        masked_columns = [
            _masked_row(row) for row in rows.select([n for n in ("name", "key") if n in names]).to_pylist()
        ]
        for name in masked_columns[0] if masked_columns else ():
            column = pa.array([row[name] for row in masked_columns], pa.string())
            rows = rows.set_column(rows.schema.get_field_index(name), name, column)
        return rows

    def rows(self, table: str, wave: int, column: str, values: Sequence[Any]) -> list[Row]:
        """See :class:`WaveTables`."""
        kept = super().rows(table, wave, column, values)
        if table == "evidence" and not self._with_evidence:
            kept = [
                row | {"sources": [source | {"text": None} for source in row["sources"] or ()]}
                for row in kept
            ]
        if table == "completions" and not self._with_evidence:
            kept = [
                row | {"messages": _LEFT_OUT} if row["stage"] == _ASKED_WITH_EVIDENCE else row for row in kept
            ]
        return [_masked_row(row) for row in kept] if self._mask else kept


def tables_for_release(mask: bool, with_evidence: bool) -> OpenTables:
    """What opens the tables of a run, and of its audits, for a release."""
    return lambda run: MaskedTables(run, mask, with_evidence)


def _masked_row(row: Row) -> Row:
    masked = {name: value if name in _REFERENCES else masked_value(value) for name, value in row.items()}
    if (
        "key" in row and "name" in row and masked["name"] != row["name"]
    ):  # links of the masked texts are looked up by it
        masked["key"] = canonical_key(masked["name"])
    return masked


def masked_value(value: Any) -> Any:
    """The same with every text in it masked."""
    if isinstance(value, str):
        return masked(value)[0]
    if isinstance(value, list):
        return [masked_value(item) for item in value]
    return _masked_row(value) if isinstance(value, dict) else value
