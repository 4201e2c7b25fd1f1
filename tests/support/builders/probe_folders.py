"""Small folders of a probe's build and run, committed without any engine."""

import json

from llmpedia.probe.benchmark.run import FACTS_FILE, grades_folder, model_folder
from llmpedia.probe.documents import document_id
from llmpedia.stages import Completion, Request, completion_row
from llmpedia.store.lease import Lease
from llmpedia.store.run_folder import RunFolder
from llmpedia.tables import TABLES, table

# Shortened from the format's description; keys and nesting are those of the published file.
PUBLISHED = {
    "benchmark_id": "4382fd6d-ec5d-5ec8-a3f2-8abc706fa010",
    "item_group_id": "c9ef1c87-3e50-5190-8e8e-37a82ec25634",
    "eval": {
        "question": "What birth date is reported for Mother Teresa?",
        "gold_answers": [{"value": "August 26, 1910"}, {"value": "August 27, 1910"}],
        "preferred_answer": "Sources report August 26 and August 27, 1910.",
    },
}
QUESTIONS = ("a", "b", "c", "d")


def filled(name, **values):
    """A row of a table with nulls for what is not said."""
    return {**dict.fromkeys(TABLES[name].names), **values}


def completion(stage, text):
    """(key, row) of a completion."""
    row = completion_row(
        0, Request(stage, "m", (("user", text),), None, "{}"), Completion(text, "stop", 1, 1)
    )
    return row["key"], row


def commit(uri, description, commits):
    """A folder whose commits hold these tables (name -> rows), each with its facts."""
    base = {"identity_hash": "x", "identity": {}, "seeds": [], "prompts": {}}
    run = RunFolder(str(uri))
    with Lease(run.folder) as lease:
        run = RunFolder.create_or_open(str(uri), {**base, **description})
        for facts, tables in commits:
            run.commit(lease, {name: table(name, rows) for name, rows in tables.items()}, facts)
    return run


def question(number, name, formulation):
    return {
        "benchmark_id": name,
        "group_id": f"group {number // 2}",
        "formulation": formulation,
        "question": f"Which year, {name}?",
        "answers": ["1871", "1874"],
        "preferred_answer": "1871",
        "path": ["History", "History", f"Field {number // 2}"],
        "n_maj": 4 - number // 2,
        "n_min": 1 + number // 2,
    }


BENCHMARK = [question(n, name, ("named_entity", "clue_based")[n % 2]) for n, name in enumerate(QUESTIONS)]


def answered(run_uri, model, outcomes, **facts):
    """A model's responses and grades. ``outcomes``: of each question; ``error``: the engine failed,
    ``judge``: the judge did.
    """
    responses = []
    grades = []
    completions = []
    for name, outcome in zip(QUESTIONS, outcomes, strict=True):
        failed = outcome == "error"
        key, row = completion("closed_book", f"{model} {name}")
        completions.append(row)
        told = {"text": None if failed else f"{name} said", "error": "engine: failed" if failed else None}
        told |= {
            "finish_reason": None if failed else "stop",
            "truncated": False,
            "attempt": 1,
            "completion": key,
        }
        responses.append(filled("responses", benchmark_id=name, **told))
        if not failed:
            grades.append(grade(name, key, outcome))
    told = {"model": model, "benchmark_sha256": "b", "identity": {"engine": {"model": model}}}
    totals = {"counts": {}, "totals": {"responses": len(responses)}}
    tables = [
        (totals, {"benchmark": BENCHMARK}),
        (totals, {"responses": responses, "completions": completions}),
    ]
    run = commit(model_folder(run_uri, model), {"kind": "responses", **told}, tables)
    run.folder.write(FACTS_FILE, json.dumps({**dict.fromkeys(FACTS), **facts}).encode())
    judged = [(totals, {"grades": [g for g, _ in grades], "completions": [c for _, c in grades if c]})]
    commit(grades_folder(run_uri, model), {"kind": "grades", **told}, judged)


FACTS = ("family", "parameters_b", "reasoning", "group", "base")
_COVERED = {"complete": [True, True], "partial": [True, False], "failed": [False, False]}


def grade(name, response, outcome):
    """(row, completion row) of a grade."""
    key, row = completion("grade", f"{response} {outcome}")
    told = {"attempt": 1, "response": response, "completion": key}
    if outcome == "judge":
        return filled("grades", benchmark_id=name, **told, error_stage="grade", error="no decision"), row
    covered = _COVERED[outcome]
    told |= {"outcome": outcome, "covered": covered, "evidence": ["so", "so"], "contradictions": []}
    return filled("grades", benchmark_id=name, **told), row


def build_tables():
    """Tables by commit of a whole small build: two documents in conflict, a group that passed every
    check, a copy.
    """
    texts = {0: "Ashton was founded in 1871. It lies by the sea.", 1: "Ashton, a port, was founded in 1874."}
    documents = [
        filled(
            "documents",
            number=n,
            document_id=document_id(f"u{n}", t),
            url=f"u{n}",
            source="f",
            text=t,
            fate="kept",
        )
        for n, t in texts.items()
    ]
    documents.append(
        filled(
            "documents",
            number=2,
            document_id="x",
            url="u2",
            source="f",
            fate="near_duplicate",
            duplicate_of=0,
        )
    )
    made = {
        stage: completion(stage, stage)
        for stage in ("knowledge_point", "relation", "questions", "read_check", "web_check")
    }
    point = {
        "path": ["A", "B", "C"],
        "confidence": 0.95,
        "first_sentence": 0,
        "last_sentence": 0,
        "sentences": 2,
    }
    points = [
        filled("knowledge_points", number=n, **point, completion=made["knowledge_point"][0]) for n in texts
    ]
    pair = filled(
        "pairs", pair_id=0, a=0, b=1, route="point", subject="ashton", slot="founding_date", score=1.0
    )
    yes = dict.fromkeys(("same_subject", "same_attribute", "same_context"), True)
    values = {"value_a": "1871", "value_b": "1874", "span_a": "founded in 1871", "span_b": "founded in 1874"}
    words = {"relation": "conflict", "subject": "Ashton", "attribute": "founding"}
    relation = filled(
        "relations", pair_id=0, **yes, compatible=False, **values, **words, completion=made["relation"][0]
    )
    sides = [{"value": "1871", "documents": [0]}, {"value": "1874", "documents": [1]}]
    graph = {
        "subgraph_id": 0,
        "seed_pair": 0,
        "subject": "ashton",
        "slot": "founding_date",
        "sides": sides,
        "n_maj": 1,
    }
    answers = [
        {"value": v, "documents": [n], "spans": [f"founded in {v}"]} for n, v in enumerate(("1871", "1874"))
    ]
    told = {
        "group_id": "g",
        "fate": "kept",
        "named_entity": "When was Ashton founded?",
        "clue_based": "When was the port founded?",
    }
    asked = {
        **told,
        "answers": answers,
        "preferred_answer": "1871",
        "path": ["A", "B", "C"],
        "subgraph_id": 0,
    }
    checks = {
        name: filled(
            "checks", group_id="g", check=name, fate="kept", proofs=[], completion=made[f"{name}_check"][0]
        )
        for name in ("read", "web")
    }
    rows = lambda stage: {"completions": [made[stage][1]]}  # noqa: E731
    return {
        "corpus": {"documents": documents},
        "knowledge": {"knowledge_points": points, **rows("knowledge_point")},
        "pairs": {"pairs": [pair]},
        "relations": {"relations": [relation], **rows("relation")},
        "subgraphs": {"subgraphs": [filled("subgraphs", **graph, n_min=1, fate="kept")]},
        "questions": {
            "questions": [filled("questions", **asked, completion=made["questions"][0])],
            **rows("questions"),
        },
        "read": {"checks": [checks["read"]], **rows("read_check")},
        "web": {"checks": [checks["web"]], **rows("web_check")},
    }


def built(uri, tables=None, review=True, **description):
    """A build's folder."""
    validation = {"read": True, "web": True, "review": review}
    commits = [
        ({"step": step, "items": 1, "last": True, "counts": {}, "totals": {}}, rows)
        for step, rows in (tables or build_tables()).items()
    ]
    return commit(uri, {"kind": "probe", "identity": {"validation": validation}, **description}, commits)
