"""Materialize what a language model knows as an encyclopedia, on Ray. See README.md for the tree and the words."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from llmpedia.api import Article, Run, Totals, Verification, open_run

__all__ = ["Article", "Run", "Totals", "Verification", "open_run"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """The public names, loaded once they are asked for: importing the package alone loads nothing."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from llmpedia import api

    return getattr(api, name)
