"""``llmpedia plan``: calls, tokens, memory and money of a run before anything is spent, with
everything taken for granted.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from llmpedia.config.walk import Config
from llmpedia.engines.memory import memory_rows
from llmpedia.engines.models import Models, load_models
from llmpedia.engines.usage import Used, committed, together
from llmpedia.materialize.run import seeds_of
from llmpedia.materialize.stages import Stages
from llmpedia.materialize.walk_stage import SampleSize
from llmpedia.store.run_folder import RunFolder

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Expected:
    """One stage: calls an article, tokens a call."""

    calls: float
    prompt_tokens: float
    completion_tokens: float


@dataclass(frozen=True)
class Planned:
    """What is printed: a row a stage and their sum, memory by GPU if it can be told, and one line
    each assumption.
    """

    stages: Rows
    memory: Rows
    assumptions: list[str]


def plan(config: Config, like: RunFolder | None) -> Planned:
    """Figures for the whole run from its first article; ``like``: a run to measure the averages of.

    Raises:
        ConfigError, InputError: settings, titles, or the run to measure cannot be read.
    """
    models = load_models(config.engine.models_file)
    articles, why = articles_of(config)
    expected = _assumed(config, models)
    lines = [why]
    if like is None:
        lines += _assumptions(config)
    else:
        measured = _measured(like)
        lines += [
            f"{s}: {'measured in ' + like.uri if s in measured else 'assumed, since the run tells nothing'}"
            for s in expected
        ]
        expected = {s: measured.get(s, e) for s, e in expected.items()}
    rows = list(_rows(config, models, articles, expected))
    lines += _of_models(config, models, list(expected))
    memory = memory_rows(config.engine, models)
    if config.engine.is_local and not memory:
        lines.append("memory: not told; a CPU engine, or the model's config.json is not at hand")
    return Planned([*rows, _sum(rows)], memory, lines)


def articles_of(config: Config) -> tuple[int, str]:
    """How many articles are reckoned with, and why."""
    caps = {"caps.articles": config.caps.articles, "caps.subjects": config.caps.subjects}
    if config.run.mode == "titles":
        caps["the titles file"] = len(seeds_of(config))
    least = min(((n, name) for name, n in caps.items() if n is not None), default=None)
    if least is None:
        return (
            config.plan.articles,
            f"{config.plan.articles} articles: no cap is set; take it as a sample (plan.articles)",
        )
    return least[0], f"{least[0]} articles: {least[1]}"


def _assumed(config: Config, models: Models) -> dict[str, Expected]:
    """Stage -> what it takes where nothing is measured; prompts are rendered, not guessed."""
    p = config.plan
    expected: dict[str, Expected] = {}
    for stage in Stages.of(config).asked():
        request = stage.request(stage.sample(SampleSize.USUAL))
        # Endpoints put the schema into the prompt and bill it; vLLM binds decoding alone.
        bound = 0 if config.engine.constrains_decoding else len(request.constraint or "")
        chars = sum(len(content) for _, content in request.messages) + bound
        thought = p.thinking_tokens if models.of(request.model).reasoning_effort else 0.0
        calls = stage.calls * (1 + p.asked_again)
        expected[stage.name] = Expected(calls, chars / p.chars_a_token, stage.answer_tokens + thought)
    return expected


def _measured(run: RunFolder) -> dict[str, Expected]:
    """Stage -> averages of a run; stages whose engine told no tokens, or that were never asked, are
    left out.
    """
    articles = run.totals.get("articles", 0)
    by_stage: dict[str, Used] = {}
    for (stage, _), used in committed(run).items():
        by_stage[stage] = (
            together([{("", ""): by_stage[stage]}, {("", ""): used}])["", ""] if stage in by_stage else used
        )
    return {
        stage: Expected(u.calls / articles, u.prompt_tokens / u.calls, u.completion_tokens / u.calls)
        for stage, u in by_stage.items()
        if articles and not u.untold
    }


def _rows(
    config: Config, models: Models, articles: int, expected: dict[str, Expected]
) -> Iterator[dict[str, Any]]:
    batched = config.engine.is_batched
    for stage, e in expected.items():
        calls = articles * e.calls
        model = str(config.stage(stage).model)
        prompt = round(calls * e.prompt_tokens)
        answer = round(calls * e.completion_tokens)
        cost = models.of(model).cost(prompt, 0, answer, batched)
        yield {
            "stage": stage,
            "model": model,
            "calls": round(calls),
            "prompt_tokens": prompt,
            "completion_tokens": answer,
            "cost": None if cost is None else round(cost, 2),
        }


def _sum(rows: Rows) -> dict[str, Any]:
    whole: dict[str, Any] = {"stage": "all", "model": None}
    for column in ("calls", "prompt_tokens", "completion_tokens"):
        whole[column] = sum(row[column] for row in rows)
    costs = [row["cost"] for row in rows]
    return {**whole, "cost": None if None in costs else round(sum(costs), 2)}


def _assumptions(config: Config) -> list[str]:
    p = config.plan
    return [
        f"an article: {config.article.words} words, {p.links:g} different links, {p.known:.0%} "
        f"known before NER, the rest in "
        f"chunks of {config.entities.ner_chunk}; {p.arbitrations:g} arbitrations; "
        f"{p.asked_again:.0%} of answers asked for again",
        (
            f"prompts as this configuration renders them, at {p.chars_a_token:g} characters a token; "
            f"set plan.* or give --like RUN"
        ),
    ]


def _of_models(config: Config, models: Models, stages: list[str]) -> list[str]:
    """What is not sent because a model refuses it, and how far prices can be trusted."""
    lines = []
    names = {str(config.stage(s).model) for s in stages}
    for name in sorted(names):
        model = models.of(name)
        if not model.temperature:
            lines.append(f"{name}: takes no temperature and no frequency_penalty; they are not sent")
        if model.reasoning_effort is False and any(config.stage(s).reasoning_effort for s in stages):
            lines.append(f"{name}: takes no reasoning_effort; it is not sent")
        if model.reasoning_effort:
            lines.append(f"{name}: {config.plan.thinking_tokens:g} hidden tokens a call, where not measured")
        if not model.json_schema:
            lines.append(f"{name}: takes no JSON Schema; answers are plain JSON (completions.fallback)")
        if model.context is not None and model.context < config.engine.context_tokens:
            lines.append(
                f"{name}: reads {model.context} tokens, engine.context_tokens is "
                f"{config.engine.context_tokens}"
            )
        if model.input is None or model.output is None:
            lines.append(f"{name}: no price is known; put it into engine.models_file, and its cost is told")
    if any(models.of(n).input is not None for n in names):
        lines.append(
            f"prices as of {models.prices_as_of}, US dollars, nothing cached; check them before you spend"
        )
    if config.engine.is_batched:
        lines.append("Batch API: at the share of the price that models.yaml tells (batch)")
    return lines


def dumps(planned: Planned) -> str:
    """All of it as JSON."""
    return json.dumps(planned.__dict__, indent=1, ensure_ascii=False)
