"""A run as data for others: what leaves it, table by table, with private information taken out and
counted.

Texts of evidence stay behind: they are other people's; their addresses, revisions and times go
along. What the filter finds is listed for the maker, beside the release and never in it.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import pyarrow as pa

from llmpedia.audit.audit_folder import constants_of
from llmpedia.entities.keys import canonical_key
from llmpedia.site.export.pii import masked, private_hits
from llmpedia.store.run_folder import RunFolder
from llmpedia.tables import documented_schema
from llmpedia.wikitext import Article

Row = dict[str, Any]
Rows = list[Row]
Policy = Literal["mask", "keep"]


_STRING = pa.string()
_INT = pa.int32()
_ID = pa.int64()
_STRINGS = pa.list_(pa.string())

RELEASED: dict[str, pa.Schema] = {
    "articles": documented_schema(
        {
            "entity_id": (_ID, "number of the entity in commit order"),
            "title": (_STRING, "name under which it was asked for"),
            "hop": (_INT, "distance from the seed in links"),
            "parent_id": (_ID, "entity whose article named it first; null for a seed"),
            "aliases": (_STRINGS, "other names that were found to mean it"),
            "outline": (_STRINGS, "headings asked for, in order"),
            "wikitext": (_STRING, "the article as it was written"),
            "text": (_STRING, "the same as plain text"),
            "lead": (_STRING, "plain text before the first heading"),
            "words": (_INT, "words of the plain text"),
            "links": (_INT, "wikilinks to article titles, mentions counted"),
        }
    ),
    "entities": documented_schema(
        {
            "entity_id": (_ID, "number in commit order, from 0"),
            "key": (_STRING, "canonical key"),
            "name": (_STRING, "first surface form"),
            "hop": (_INT, "distance from the seed in links"),
            "parent_id": (_ID, "entity whose article named it first; null for a seed"),
            "sentence": (_STRING, "sentence of that article; null for a seed"),
        }
    ),
    "claims": documented_schema(
        {
            "audit": (_STRING, "name of the audit"),
            "judge": (_STRING, "model that judged"),
            "entity_id": (_ID, "whose article it was taken from"),
            "title": (_STRING, "of that article"),
            "claim": (_STRING, "one atomic claim"),
            "tier": (_STRING, "wikipedia or web; null: nothing to judge by was found"),
            "verdict": (
                _STRING,
                "supported, refuted, insufficient; not_adjudicated: none could be had; null with its tier",
            ),
            "error_type": (_STRING, "of a refuted claim"),
            "explanation": (_STRING, "the judge's"),
            "sources": (_STRINGS, "addresses of what was judged by"),
            "revisions": (_STRINGS, "their revisions, where known; else empty"),
            "fetched_at": (_STRINGS, "when they were fetched (UTC)"),
        }
    ),
    "completions": documented_schema(
        {
            "entity_id": (_ID, "subject it was asked for; null for a seed's"),
            "stage": (_STRING, "outline, article, ..."),
            "model": (_STRING, ""),
            "messages": (_STRING, "the prompt: JSON list of {role, content}"),
            "text": (_STRING, "the raw answer; null: none came"),
            "finish_reason": (_STRING, "stop, length, ...; null: errored"),
            "prompt_tokens": (_INT, "null: not told"),
            "completion_tokens": (_INT, "null: not told"),
            "error": (_STRING, "null: an answer came"),
        }
    ),
}
# Columns that hold text of a model or of people.
_TEXTS = {
    "articles": ("title", "aliases", "outline", "wikitext", "text", "lead"),
    "entities": ("name", "sentence"),
    "claims": ("title", "claim", "explanation", "sources"),
    "completions": ("messages", "text", "error"),
}


@dataclass
class Filter:
    """The private-information filter of one release. ``counts``: (table, kind) -> hits.

    What an entity's texts say several times is one hit: a number in an article stands in its
    wikitext, text and lead.
    """

    policy: Policy
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    _columns: dict[tuple[str, str, int | None, str, str], list[str]] = field(default_factory=dict)

    @property
    def found(self) -> Rows:
        """A row a hit, with the columns that it stands in."""
        names = ("run", "table", "entity_id", "kind", "text")
        return [
            dict(zip(names, hit, strict=True)) | {"columns": ", ".join(at)}
            for hit, at in self._columns.items()
        ]

    def row(self, run: str, table: str, row: Row) -> Row:
        """The row of a run as it may leave, hits noted."""
        return row | {
            column: self._value((run, table, row["entity_id"]), column, row[column])
            for column in _TEXTS[table]
        }

    def _value(self, of: tuple[str, str, int | None], column: str, value: Any) -> Any:
        if isinstance(value, list):
            return [self._value(of, column, item) for item in value]
        if not value or not (hits := private_hits(value)):
            return value
        for hit in hits:
            at = self._columns.setdefault((*of, hit.kind, hit.text), [])
            self.counts[of[1], hit.kind] += not at
            if column not in at:
                at.append(column)
        return masked(value)[0] if self.policy == "mask" else value


def released(
    run: RunFolder, audits: Sequence[RunFolder], tables: Sequence[str], private: Filter
) -> Iterator[tuple[str, Rows]]:
    """(table, rows) in order, a piece a commit; every row has passed the filter.

    Raises:
        InputError: a file of the run is missing or damaged.
    """
    for table in tables:
        for rows in _pieces(run, audits, table):
            if rows:
                yield table, [_keyed(table, private.row(run.uri, table, row)) for row in rows]


def _pieces(run: RunFolder, audits: Sequence[RunFolder], table: str) -> Iterator[Rows]:
    if table == "claims":
        return (rows for audit in audits for rows in _claims(audit))
    return {"articles": _articles, "entities": _entities, "completions": _completions}[table](run)


def _keyed(table: str, row: Row) -> Row:
    """A key made from a name that was masked would still tell it."""
    return row | {"key": canonical_key(row["name"])} if table == "entities" else row


def _articles(run: RunFolder) -> Iterator[Rows]:
    aliases: dict[int, list[str]] = {}
    for row in run.read("aliases", columns=["entity_id", "name"]).to_pylist():
        aliases.setdefault(row["entity_id"], []).append(row["name"])
    entities = run.read("entities", columns=["entity_id", "parent_id"])
    parents = dict(zip(entities["entity_id"].to_pylist(), entities["parent_id"].to_pylist(), strict=True))
    for wave in range(run.last_wave + 1):
        yield [
            {
                "entity_id": (n := row["subject_id"]),
                "title": row["name"],
                "hop": row["hop"],
                "parent_id": parents[n],
                "aliases": aliases.get(n, []),
                **{name: row[name] for name in ("outline", "wikitext", "lead", "words", "links")},
                "text": Article(row["wikitext"]).text,
            }
            for row in run.read("articles", [wave]).to_pylist()
        ]


def _entities(run: RunFolder) -> Iterator[Rows]:
    for wave in range(run.last_wave + 1):
        yield run.read("entities", [wave], RELEASED["entities"].names).to_pylist()


def _completions(run: RunFolder) -> Iterator[Rows]:
    names = ["subject_id", *RELEASED["completions"].names[1:]]
    for wave in range(run.last_wave + 1):
        yield [
            {"entity_id": row.pop("subject_id"), **row}
            for row in run.read("completions", [wave], names).to_pylist()
        ]


def _claims(audit: RunFolder) -> Iterator[Rows]:
    """A row a claim and tier; a claim that no tier could judge has one row without a tier."""
    constants = constants_of(audit)
    for wave in range(1, audit.last_wave + 1):
        titles = {
            a["subject_id"]: a["name"]
            for a in audit.read("audited", [wave], ["subject_id", "name"]).to_pylist()
        }
        sources = {
            (e["subject_id"], e["tier"]): e["sources"] or []
            for e in audit.read("evidence", [wave]).to_pylist()
        }
        verdicts: dict[int, Rows] = {}
        for verdict in audit.read("verdicts", [wave]).to_pylist():
            verdicts.setdefault(verdict["claim_id"], []).append(verdict)
        rows: Rows = []
        for claim in audit.read("claims", [wave]).to_pylist():
            n = claim["subject_id"]
            fixed = {
                "audit": constants["audit"],
                "judge": constants["judge"],
                "entity_id": n,
                "title": titles[n],
            }
            for verdict in verdicts.get(claim["claim_id"], [{}]):
                by = sources.get((n, verdict.get("tier")), [])
                rows.append({**fixed, "claim": claim["text"], **_judged(verdict), **_cited(by)})
        yield rows


def _judged(verdict: Row) -> Row:
    return {name: verdict.get(name) for name in ("tier", "verdict", "error_type", "explanation")}


def _cited(sources: Sequence[Row]) -> Row:
    columns = {"sources": "url", "revisions": "revision", "fetched_at": "fetched_at"}
    return {to: [source[of] or "" for source in sources] for to, of in columns.items()}
