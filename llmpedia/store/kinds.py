"""Kinds of run folders, as ``run.yaml`` names them. What each of them needs elsewhere:
``llmpedia.run_kinds``.
"""

from enum import StrEnum


class RunKind(StrEnum):
    """What a run folder holds. The values are stored."""

    WALK = "walk"
    """Articles that a model wrote; a ``run.yaml`` without a kind is of this one."""
    IMPORTED = "imported"
    """Articles of another encyclopedia: no completions, a row of ``imports`` each."""
    AUDIT = "audit"
    """Verdicts on the claims of another run's articles."""
    SCORES = "ppl"
    """Perplexity of given answers."""
    BUILD = "probe"
    """A benchmark as it is built from a corpus."""
    RESPONSES = "responses"
    """What one model answered to a benchmark."""
    GRADES = "grades"
    """A judge's decisions on one model's responses."""
