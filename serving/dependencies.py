"""What the routes ask, handed to them by whoever starts them: Ray Serve, or a test."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from serving.admission import Gate
from serving.errors import RefusalError
from serving.judge import ServedJudge
from serving.metrics import Counts
from serving.scoring import QuestionScorer


@dataclass(frozen=True)
class Parts:
    """``judge``, ``scorer``: null where they are not served, each with its gate. ``model``: that
    the scorer scores by.

    ``scrape``: the text of ``/metrics``.
    """

    judge: ServedJudge | None
    scorer: QuestionScorer | None
    model: str | None
    judge_gate: Gate
    scorer_gate: Gate
    counts: Counts
    scrape: Callable[[], Awaitable[str]]

    def require_judge(self) -> ServedJudge:
        """The judge.

        Raises:
            RefusalError: it is not served.
        """
        if self.judge is None:
            raise _not_served("judge")
        return self.judge

    def require_scorer(self) -> QuestionScorer:
        """The scorer.

        Raises:
            RefusalError: it is not served.
        """
        if self.scorer is None:
            raise _not_served("perplexity")
        return self.scorer


def _not_served(part: str) -> RefusalError:
    return RefusalError(501, "not_served", f"{part} is null in the settings of this server")
