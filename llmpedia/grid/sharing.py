"""Which cells of a grid put the same questions to the same engine, so that one can take answers
from the other.
"""

from collections.abc import Sequence
from typing import Any

from llmpedia.config.walk import Config
from llmpedia.grid.cells import Cell
from llmpedia.materialize.stages import Stages
from llmpedia.materialize.walk_stage import SampleSize


def shared_stages(one: Config, other: Config) -> list[str]:
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


def _keys(config: Config) -> dict[str, str]:
    """Stage -> key of one and the same question, of the stages that the walk asks."""
    asked = Stages.of(config).asked()
    return {stage.name: stage.request(stage.sample(SampleSize.SMALLEST)).key for stage in asked}
