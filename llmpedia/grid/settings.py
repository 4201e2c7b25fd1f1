"""What a grid's file says: a walk, axes of settings, an audit. Every combination of one label an
axis is a cell, a run by itself.

A label is a name for some sections of a walk. They are laid over those of ``walk``, which are laid
over those of the file that either of them names (``file``). See ``configs/ablation.yaml`` and
``configs/topics/``.
"""

from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, StringConstraints

from llmpedia.config.base import Section
from llmpedia.config.files import load_mapping, parse_as

# Labels make the names of folders.
Label = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=60)]
Sections = dict[str, Any]


class GridConfig(Section):
    """``axes``: axis -> label -> sections. ``audit``: sections of an audit of every cell, ``file``
    among them; null: none.
    """

    walk: Sections = Field(description="settings of a walk that all cells share")
    axes: Annotated[
        dict[Label, Annotated[dict[Label, Sections], Field(min_length=1)]], Field(min_length=1)
    ] = Field(description="axis -> label -> sections")
    audit: Sections | None = Field(
        default=None, description="sections of an audit of every cell, file among them; null: none"
    )


def load_grid_config(path: str | Path, overrides: list[str] | None = None) -> GridConfig:
    """Read a grid's file and apply ``a.b=c`` overrides (``walk.caps.articles=20``). Its cells are
    not yet checked.

    Raises:
        ConfigError: one line.
    """
    return parse_as(GridConfig, load_mapping(path, overrides), str(path))
