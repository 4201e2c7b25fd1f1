"""Which cells of a grid put the same questions to the same engine, so that one can take answers
from the other.
"""

from collections.abc import Sequence
from typing import Any

from llmpedia.config.walk import Config, StageName
from llmpedia.grid.cells import Cell
from llmpedia.materialize.plan import stages_of
from llmpedia.materialize.steps import Fact, FactSheet, Likeness, Phrases, Stages, Subject

_FACTS = FactSheet(
    summary="S", aliases=["A"], salient_facts=[Fact(predicate="p", object="o", confidence=1.0)]
)


def shared_stages(one: Config, other: Config) -> list[StageName]:
    """Stages whose requests are the same in both walks wherever their subjects are; none where the
    engines differ.
    """
    if _engine(one) != _engine(other):
        return []
    theirs = _keys(other)
    return [name for name, key in _keys(one).items() if theirs.get(name) == key]


def sources_of(number: int, cells: Sequence[Cell]) -> list[Cell]:
    """Cells before cell ``number`` that share a stage with it, in their order."""
    return [cell for cell in cells[:number] if shared_stages(cells[number].config, cell.config)]


def _engine(config: Config) -> Any:
    return config.identity()["engine"], config.engine.base_url


def _keys(config: Config) -> dict[StageName, str]:
    """Stage -> key of one and the same question, of the stages that the walk asks."""
    stages = Stages.of(config)
    subject = Subject("N", ("H",) * config.article.sections[1], _FACTS if config.run.self_grounding else None)
    questions: dict[StageName, Any] = {
        "self_grounding": subject,
        "outline": subject,
        "article": subject,
        "ner": Phrases("N", ("M",)),
        "arbitration": Likeness("N", ("M",)),
    }
    return {name: getattr(stages, name).request(questions[name]).key for name in stages_of(config)}
