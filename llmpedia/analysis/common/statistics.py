"""Shares and likenesses, as the tables print them and the pages draw them."""

from collections.abc import Set as AbstractSet
from typing import Any

from llmpedia.audit.measures.verdicts import wilson


def percent(part: float, whole: float) -> float | None:
    """In percent with two decimals, as the paper prints; null where there is nothing to divide by."""
    return round(100 * part / whole, 2) if whole else None


def percent_of_share(share: float | None) -> float | None:
    """A share as percent with one decimal; null stays null."""
    return None if share is None else round(100 * share, 1)


def drawn_width(part: float, whole: float) -> float:
    """How much of a bar is filled, in percent; 0 where there is nothing to divide by."""
    return round(100 * part / whole, 3) if whole else 0.0


def share_with_interval(name: str, part: int, whole: int) -> dict[str, float | None]:
    """``NAME_pct`` with Wilson's 95% interval ``NAME_low``, ``NAME_high``, in percent; null where
    nothing is to divide by.
    """
    low, high = wilson(part, whole) or (None, None)
    bounds = {"low": low, "high": high}
    return {
        f"{name}_pct": percent(part, whole),
        **{f"{name}_{k}": None if bound is None else round(100 * bound, 2) for k, bound in bounds.items()},
    }


def jaccard(shared: int, union: int) -> float | None:
    """Shared over all; null where there is nothing."""
    return shared / union if union else None


def jaccard_of_sets(a: AbstractSet[Any], b: AbstractSet[Any]) -> float | None:
    """Shared over all members; null where both are empty."""
    return jaccard(len(a & b), len(a | b))
