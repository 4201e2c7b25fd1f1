"""A run as it may leave this machine: private information masked in every text, evidence without the texts of others."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from llmpedia.site.private import masked
from llmpedia.site.reader_tables import OpenTables, Row, WaveTables
from llmpedia.store.runfolder import RunFolder

# Names of things inside of the run, which other rows refer to.
_REFERENCES = frozenset(
    "key fate visit tier outcome verdict completion outline_completion ner_completion arbitration_completion "
    "claims_completion stage model finish_reason constraint sampling url fetched_at revision provider how".split()
)


class MaskedTables(WaveTables):
    """Tables whose texts have passed the private-information filter. ``with_evidence``: keep the texts of sources."""

    def __init__(self, run: RunFolder, mask: bool, with_evidence: bool) -> None:
        super().__init__(run)
        self._mask, self._with_evidence = mask, with_evidence

    def columns(self, table: str, wave: int, names: list[str]) -> pa.Table:
        """See :class:`WaveTables`."""
        rows = super().columns(table, wave, names)
        if self._mask and "name" in names and rows.num_rows:
            told = pa.array([None if name is None else masked(name)[0] for name in rows["name"].to_pylist()], pa.string())
            rows = rows.set_column(rows.schema.get_field_index("name"), "name", told)
        return rows

    def rows(self, table: str, wave: int, column: str, values: Sequence[Any]) -> list[Row]:
        """See :class:`WaveTables`."""
        found = super().rows(table, wave, column, values)
        if table == "evidence" and not self._with_evidence:
            found = [row | {"sources": [source | {"text": ""} for source in row["sources"] or ()]} for row in found]
        return [_masked_row(row) for row in found] if self._mask else found


def tables_for_release(mask: bool, with_evidence: bool) -> OpenTables:
    """What opens the tables of a run, and of its audits, for a release."""
    return lambda run: MaskedTables(run, mask, with_evidence)


def _masked_row(row: Row) -> Row:
    return {name: value if name in _REFERENCES else _masked(value) for name, value in row.items()}


def _masked(value: Any) -> Any:
    if isinstance(value, str):
        return masked(value)[0]
    if isinstance(value, list):
        return [_masked(item) for item in value]
    return _masked_row(value) if isinstance(value, dict) else value
