"""Benchmarks as files: the published record format of ElephantBench, out of a build and back in.

A record a line: ``benchmark_id``, ``item_group_id``, ``eval.question``,
``eval.gold_answers[].value``, ``eval.preferred_answer``. What the format has no place for
(formulation, knowledge point, exposure) lies beside it in ``NAME.facts.jsonl``, which need not be
there. Ids are UUIDs made from content, so that two builds of the same give the same file.
"""

import gzip
import json
import uuid
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from llmpedia.entities.keys import canonical_key
from llmpedia.errors import InputError
from llmpedia.probe.questions.writing import FORMULATIONS
from llmpedia.store.files import Folder
from llmpedia.store.kinds import RunKind
from llmpedia.store.run_folder import RUN_FILE, RunFolder

Row = dict[str, Any]
NOT_CHECKED = "not checked yet"
CHECKS = ("read", "web", "review")
DUPLICATE_QUESTION = "duplicate question"
_SPACE = uuid.UUID(
    "6f0c1f6e-2f0e-5c57-9a53-5d0f4b0a6c11"
)  # of this project's records; any fixed one would do
_FACTS = ("formulation", "path", "n_maj", "n_min")


def content_id(*parts: Any) -> str:
    """The UUID (version 5) of some content."""
    return str(uuid.uuid5(_SPACE, json.dumps(parts, ensure_ascii=False, sort_keys=True)))


def wanted_checks(run: RunFolder) -> tuple[str, ...]:
    """The checks that a build's questions have to pass, in order."""
    validation = run.description()["identity"]["validation"]
    return tuple(check for check in CHECKS if validation[check])


def last_checks(run: RunFolder) -> dict[tuple[str, str], Row]:
    """(group_id, check) -> the row that counts, which is the last one."""
    return {(row["group_id"], row["check"]): row for row in run.read("checks").to_pylist()}


def released(run: RunFolder) -> tuple[list[Row], dict[str, int]]:
    """Rows of the table ``benchmark``, two a group that passed every check, and how many groups
    were left out, by reason.

    Of two groups with the same question only the first is released.
    """
    checks = last_checks(run)
    wanted = wanted_checks(run)
    graphs = {row["subgraph_id"]: row for row in run.read("subgraphs").to_pylist()}
    rows: list[Row] = []
    left_out: Counter[str] = Counter()
    asked: set[str] = set()
    for question in run.read("questions").to_pylist():
        if question["fate"] != "kept":
            left_out[f"questions: {question['fate']}"] += 1
            continue
        why = _missing(question["group_id"], wanted, checks)
        keys = {canonical_key(question[f]) for f in FORMULATIONS}
        if why is None and keys & asked:
            why = DUPLICATE_QUESTION
        if why is not None:
            left_out[why] += 1
            continue
        asked |= keys
        rows += _records_of(question, graphs[question["subgraph_id"]])
    return rows, dict(sorted(left_out.items()))


def _missing(group: str, wanted: Iterable[str], checks: dict[tuple[str, str], Row]) -> str | None:
    for check in wanted:
        row = checks.get((group, check))
        if row is None:
            return f"{check}: {NOT_CHECKED}"
        if row["fate"] != "kept":
            return f"{check}: {row['fate']}"
    return None


def _records_of(question: Row, graph: Row) -> list[Row]:
    group = question["group_id"]
    answers = [a["value"] for a in question["answers"]]
    shared = {"answers": answers, "preferred_answer": question["preferred_answer"], "path": question["path"]}
    counts = {"n_maj": graph["n_maj"], "n_min": graph["n_min"]}
    return [
        {
            "benchmark_id": content_id(group, formulation, question[formulation]),
            "group_id": group,
            "formulation": formulation,
            "question": question[formulation],
            **shared,
            **counts,
        }
        for formulation in FORMULATIONS
    ]


def record(row: Row) -> Row:
    """A row of the table ``benchmark`` in the published format."""
    golds = [{"value": answer} for answer in row["answers"]]
    fields = {"question": row["question"], "gold_answers": golds, "preferred_answer": row["preferred_answer"]}
    return {"benchmark_id": row["benchmark_id"], "item_group_id": row["group_id"], "eval": fields}


def write_benchmark(rows: list[Row], uri: str) -> list[str]:
    """Write the file and its facts; their names.

    Raises:
        InputError: they cannot be written.
    """
    folder, name = _split(uri)
    facts = [{"benchmark_id": row["benchmark_id"], **{f: row[f] for f in _FACTS}} for row in rows]
    for file, records in ((name, [record(row) for row in rows]), (_facts_name(name), facts)):
        data = "".join(
            json.dumps(r, ensure_ascii=False, separators=(",", ":")) + "\n" for r in records
        ).encode()
        folder.write(file, gzip.compress(data, mtime=0) if file.endswith(".gz") else data)
    return [folder.path(name), folder.path(_facts_name(name))]


def read_benchmark(uri: str) -> list[Row]:
    """Rows of the table ``benchmark`` from a JSONL file (``.gz`` too) in the published format, or
    from a build's folder.

    Raises:
        InputError: nothing there, or a record that cannot be used.
    """
    if Folder(uri).exists(RUN_FILE):
        rows = released(_finished(RunFolder.open(uri)))[0]
        if not rows:
            raise InputError(
                f"benchmark = {uri!r}: no question of this build is released yet; see llmpedia "
                f"probe export {uri}"
            )
        return rows
    folder, name = _split(uri)
    facts = {row.get("benchmark_id"): row for _, row in _lines(folder, _facts_name(name), missing=True)}
    rows = [
        _row(record, facts, f"{uri}, line {number}") for number, record in _lines(folder, name, missing=False)
    ]
    twice = [key for key, n in Counter(row["benchmark_id"] for row in rows).items() if n > 1]
    if twice or not rows:
        why = f"benchmark_id {twice[0]} comes twice" if twice else "holds no record"
        raise InputError(f"benchmark = {uri!r}: {why}; give a file in the published format")
    return rows


def _finished(run: RunFolder) -> RunFolder:
    """A build whose models are done; a benchmark must not grow while it is used."""
    if run.kind != RunKind.BUILD:
        raise InputError(
            f"benchmark = {run.uri!r}: is no build of a probe; give the folder of one, or a JSONL file"
        )
    last = next((check for check in reversed(wanted_checks(run)) if check != "review"), "questions")
    if not any(m.facts["step"] == last and m.facts["last"] for m in run.manifests):
        raise InputError(
            f"benchmark = {run.uri!r}: its step {last} is not done; finish it with llmpedia probe build"
        )
    return run


def _row(data: Any, facts: dict[Any, Row], at: str) -> Row:
    evaluation = data.get("eval") if isinstance(data, dict) else None
    if not isinstance(evaluation, dict):
        raise InputError(f"{at}: no object with an eval section; give a file in the published format")
    golds = evaluation.get("gold_answers")
    answers: list[Any] = (
        [g.get("value") if isinstance(g, dict) else None for g in golds] if isinstance(golds, list) else []
    )
    texts = {
        "benchmark_id": data.get("benchmark_id"),
        "item_group_id": data.get("item_group_id"),
        "eval.question": evaluation.get("question"),
        "eval.preferred_answer": evaluation.get("preferred_answer"),
        **{f"eval.gold_answers[{n}].value": a for n, a in enumerate(answers)},
    }
    for name, text in texts.items():
        if not isinstance(text, str) or not text.strip():
            raise InputError(f"{at}: {name} = {text!r}: must be text; correct the record")
    if len({" ".join(a.split()).casefold() for a in answers}) < max(2, len(answers)):
        raise InputError(
            f"{at}: eval.gold_answers = {answers!r}: must be at least two different ones; correct the record"
        )
    more = facts.get(data["benchmark_id"], {})
    return {
        "benchmark_id": data["benchmark_id"],
        "group_id": data["item_group_id"],
        "question": evaluation["question"],
        "answers": answers,
        "preferred_answer": evaluation["preferred_answer"],
        **{f: more.get(f) for f in _FACTS},
    }


def _lines(folder: Folder, name: str, missing: bool) -> Iterator[tuple[int, Any]]:
    """(number from 1, record) of a JSONL file; nothing where it may be missing and is."""
    try:
        data = folder.read(name)
        data = gzip.decompress(data) if name.endswith(".gz") else data
    except FileNotFoundError:
        if missing:
            return
        raise InputError(
            f"{folder.path(name)}: no such file; give a benchmark as JSONL, or the folder of a build"
        ) from None
    except (OSError, EOFError, zlib.error) as e:
        raise InputError(f"{folder.path(name)}: damaged ({e}); restore it from a copy") from e
    for number, line in enumerate(data.splitlines(), 1):
        if line.strip():
            try:
                yield number, json.loads(line)
            except ValueError as e:
                raise InputError(
                    f"{folder.path(name)}, line {number}: no JSON ({e}); correct the record"
                ) from e


def _split(uri: str) -> tuple[Folder, str]:
    above, _, name = uri.rpartition("/")
    return Folder(above or ("/" if uri.startswith("/") else ".")), name


def _facts_name(name: str) -> str:
    return f"{name.removesuffix('.gz').removesuffix('.jsonl')}.facts.jsonl"
