"""Tokens and money a stage, as spent: from committed completions, and from the journal of waves
under way.

What another run had been answered (setting ``reuse``) was not spent again: a manifest tells of it
under ``facts.reused``.

A figure that is not known is null, never 0: tokens where the engine tells none, money where no
price is known.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from llmpedia.engines.models import Models, load_models
from llmpedia.errors import ConfigError
from llmpedia.stages import RETRY_OPENINGS, is_retry
from llmpedia.store import journal
from llmpedia.store.run_folder import RunFolder

Rows = list[dict[str, Any]]

# The last turn of a request that puts a question once more, as JSON; a quote inside of a prompt is
# escaped, so this is exact.
_RETRY = "|".join(re.escape(json.dumps({"role": "user", "content": w})[:-2]) for w in RETRY_OPENINGS)
# Journaled like completions, but no calls of a model that commits keep.
_NOT_MODELS = frozenset({"embedding", "evidence_wikipedia", "evidence_web", "web_search", "web_page"})
_COLUMNS = ["stage", "model", "messages", "prompt_tokens", "completion_tokens", "error", "cached_tokens"]


@dataclass
class Used:
    """Sums over the calls of one stage to one model. ``untold``: answered calls whose tokens the
    engine did not tell.

    ``reused``: answers taken from other runs; what they took is counted there.
    """

    calls: int = 0
    errored: int = 0
    asked_again: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    untold: int = 0
    reused: int = 0

    def take(self, row: Mapping[str, Any], again: bool) -> None:
        """Count one completion. Tokens of a call that failed are not told, and as a rule not
        billed.
        """
        self.calls += 1
        self.errored += row["error"] is not None
        self.asked_again += again
        known = row["prompt_tokens"] is not None and row["completion_tokens"] is not None
        self.untold += row["error"] is None and not known
        self.prompt_tokens += row["prompt_tokens"] or 0
        self.completion_tokens += row["completion_tokens"] or 0
        self.cached_tokens += row.get("cached_tokens") or 0


Usage = dict[tuple[str, str], Used]
# What is not spent where an answer is taken from another run; one that failed is never taken.
_SPENT = ("calls", "asked_again", "untold", "prompt_tokens", "cached_tokens", "completion_tokens")


def committed(run: RunFolder) -> Usage:
    """(stage, model) -> what its committed completions took, whoever asked for them. Embeddings are
    not kept in them.
    """
    return together(_of_table(run.read("completions", [wave], _COLUMNS)) for wave in range(run.last_wave + 1))


def asked(run: RunFolder) -> Usage:
    """The same of what the run itself has asked for."""
    usage = committed(run)
    for manifest in run.manifests:
        for row in manifest.facts.get("reused", ()):
            used = usage[row["stage"], row["model"]]
            for name in _SPENT:
                setattr(used, name, getattr(used, name) - row[name])
            used.reused += row["calls"]
    return usage


def reused_facts(completions: pa.Table, keys: set[str]) -> Rows:
    """What a manifest says of those completions of a commit that other runs had been answered;
    ``keys``: theirs.
    """
    taken = _of_table(
        completions.filter(pc.is_in(completions["key"], pa.array(list(keys), pa.string()))).select(_COLUMNS)
    )
    return [
        {"stage": stage, "model": model, **{name: getattr(used, name) for name in _SPENT}}
        for (stage, model), used in sorted(taken.items())
    ]


def _of_table(completions: pa.Table) -> Usage:
    """By columns, as :meth:`Used.take` counts single ones."""
    answered = pc.is_null(completions["error"])
    known = [pc.is_valid(completions[name]) for name in ("prompt_tokens", "completion_tokens")]
    counted = {
        "calls": pa.array([1] * completions.num_rows, pa.int64()),
        "errored": pc.invert(answered),
        "asked_again": pc.fill_null(pc.match_substring_regex(completions["messages"], _RETRY), False),
        "untold": pc.and_not(answered, pc.and_(*known)),
        **{
            name: pc.fill_null(completions[name], 0)
            for name in ("prompt_tokens", "completion_tokens", "cached_tokens")
        },
    }
    keys = {name: completions[name] for name in ("stage", "model")}
    # Without pyarrow's thread pools, as wherever a run is read (see store.run_folder.parquet_rows).
    groups = pa.table(
        {**keys, **{name: pc.cast(column, pa.int64()) for name, column in counted.items()}}
    ).group_by(list(keys), use_threads=False)
    rows = groups.aggregate([(name, "sum") for name in counted]).to_pylist()
    return {
        (row["stage"], row["model"]): Used(**{name: row[f"{name}_sum"] for name in counted}) for row in rows
    }


def under_way(run: RunFolder) -> Usage:
    """The same of what the journal holds of waves not yet committed, but for embeddings and
    evidence.
    """
    usage: Usage = {}
    for wave in journal.waves_with_pieces(run.folder):
        if wave > run.last_wave:
            for record in journal.read_wave(run.folder, wave).values():
                if record["stage"] in _NOT_MODELS:
                    continue
                again = is_retry(record["messages"][-1][1])
                row = {
                    "prompt_tokens": None,
                    "completion_tokens": None,
                    "error": None,
                    **record["completion"],
                }
                used = usage.setdefault((record["stage"], record["model"]), Used())
                if record.get("reused"):
                    used.reused += 1
                else:
                    used.take(row, again)
    return usage


def together(parts: Iterable[Usage]) -> Usage:
    """Usages summed."""
    whole: Usage = {}
    for part in parts:
        for key, used in part.items():
            into = whole.setdefault(key, Used())
            for name, n in used.__dict__.items():
                setattr(into, name, getattr(into, name) + n)
    return whole


def settings_of(run: RunFolder) -> tuple[Models, bool]:
    """Prices as this machine has them now, and whether the run was configured for the Batch API.

    Where the run's own models file is gone, no price is known: the built-in ones were not meant to
    hold.
    """
    engine = run.description().get("config", {}).get("engine", {})
    try:
        models = load_models(engine.get("models_file"))
    except ConfigError:
        models = Models()
    return models, engine.get("kind") == "openai_batch"


def usage_rows(name: str, usage: Usage, models: Models, batched: bool) -> Rows:
    """A row a stage and model, and a sum; ``cost`` in US dollars."""
    rows = [_row(name, stage, model, used, models, batched) for (stage, model), used in sorted(usage.items())]
    return [*rows, _sum(name, rows)] if rows else []


def _row(name: str, stage: str, model: str, used: Used, models: Models, batched: bool) -> dict[str, Any]:
    known = not used.untold
    cost = (
        models.of(model).cost(used.prompt_tokens, used.cached_tokens, used.completion_tokens, batched)
        if known
        else None
    )
    return {
        "run": name,
        "stage": stage,
        "model": model,
        "calls": used.calls,
        "errored": used.errored,
        "asked_again": used.asked_again,
        "reused": used.reused,
        "untold": used.untold,
        "prompt_tokens": used.prompt_tokens if known else None,
        "completion_tokens": used.completion_tokens if known else None,
        "cost": None if cost is None else round(cost, 6),
    }


def _sum(name: str, rows: Rows) -> dict[str, Any]:
    """Null as soon as one part is."""
    whole: dict[str, Any] = {"run": name, "stage": "all", "model": None}
    for column in list(rows[0])[3:]:
        values = [row[column] for row in rows]
        whole[column] = None if None in values else sum(values)
    if whole["cost"] is not None:
        whole["cost"] = round(whole["cost"], 6)
    return whole


def usage_table(run: RunFolder, prices: Models | None = None) -> Rows:
    """What the committed part of a run took; ``prices``: instead of those that the run's own
    settings name.
    """
    models, batched = settings_of(run)
    models = prices or models
    return usage_rows(run.uri.rstrip("/").rpartition("/")[2] or run.uri, asked(run), models, batched)


def spent(run: RunFolder) -> Rows:
    """What a run has taken so far, waves under way among it."""
    models, batched = settings_of(run)
    rows = usage_rows("", together([asked(run), under_way(run)]), models, batched)
    return [{k: v for k, v in row.items() if k != "run"} for row in rows]
