"""What each kind of run folder needs of the rest: its name in messages, its check, its figures.

A new job that writes run folders adds a member to :class:`~llmpedia.store.kinds.RunKind` and a row
here.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from llmpedia.store.kinds import RunKind

if TYPE_CHECKING:
    from llmpedia.store.run_folder import RunFolder
    from llmpedia.store.verify import Report


@dataclass(frozen=True)
class KindSpec:
    """One kind of run folder.

    Attributes:
        label: what a folder of it holds, as messages say it.
        check: module and function that prove a folder whole; loaded once it is asked for.
        failures: numbers under ``facts.counts`` of a manifest that say what failed.
        counted: counts by name under ``facts.counts``.
        report: how its figures are to be had where ``llmpedia report`` does not take it; {0} is the
        folder.
    """

    label: str
    check: str
    failures: tuple[str, ...] = ()
    counted: tuple[str, ...] = ()
    report: str | None = None

    def verify(self, run: "RunFolder") -> "Report":
        """Check all of a folder of this kind.

        Raises:
            InputError: it cannot be read.
        """
        module, _, function = self.check.partition(":")
        check = getattr(importlib.import_module(module), function)
        return cast("Callable[[RunFolder], Report]", check)(run)


_OF_MODELS = "use llmpedia probe report on the folder that holds models/"

SPECS: dict[RunKind, KindSpec] = {
    RunKind.WALK: KindSpec("a walk", "llmpedia.store.verify:verify", ("errored",), ("fates",)),
    RunKind.IMPORTED: KindSpec(
        "an imported encyclopedia", "llmpedia.store.verify:verify", ("errored",), ("fates",)
    ),
    RunKind.AUDIT: KindSpec(
        "an audit",
        "llmpedia.audit.verify:verify_audit",
        ("extraction_failed",),
        ("outcomes", "verdicts_by_label"),
        "use llmpedia audit report {0}",
    ),
    RunKind.SCORES: KindSpec(
        "scores",
        "llmpedia.perplexity.verify:verify_scores",
        counted=("errors",),
        report="read {0}/tables/ppl_questions and ppl_answers (Parquet)",
    ),
    RunKind.BUILD: KindSpec(
        "a probe's build",
        "llmpedia.probe.verify:verify_build",
        counted=("fates",),
        report="use llmpedia probe report {0}",
    ),
    RunKind.RESPONSES: KindSpec(
        "responses", "llmpedia.probe.verify:verify_responses", counted=("outcomes",), report=_OF_MODELS
    ),
    RunKind.GRADES: KindSpec(
        "grades", "llmpedia.probe.verify:verify_grades", counted=("outcomes",), report=_OF_MODELS
    ),
}


def spec_of(run: "RunFolder") -> KindSpec:
    """What a run folder's kind needs.

    Raises:
        InputError: ``run.yaml`` is damaged, or names a kind that this version does not know.
    """
    return SPECS[run.kind]
