"""The quality of a text: a fastText classifier's probability of one label, and small classifiers of
one's own.
"""

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from llmpedia.errors import InputError
from llmpedia.probe.corpus.classifier_file import flaw
from llmpedia.probe.settings.build import QualitySection
from llmpedia.stages import one_line
from llmpedia.store.input_files import reason

LABEL = "__label__"
"""What fastText's labels begin with."""


class Quality:
    """A loaded classifier."""

    def __init__(self, settings: QualitySection) -> None:
        """Load ``settings.model``.

        Raises:
            InputError: it is no classifier, or does not know the label.
        """
        import fasttext

        self._path = settings.model
        self._label = settings.label
        rule = "give a supervised fastText model (.bin), whole"
        if problem := flaw(str(self._path)):
            raise InputError(f"corpus.quality.model = {self._path!r}: cannot be used ({problem}); {rule}")
        try:
            self._model: Any = fasttext.load_model(str(self._path))
            self._model.predict("a")  # word vectors load as well, and tell here that they are no classifier
        except (ValueError, MemoryError, RuntimeError) as e:
            raise InputError(
                f"corpus.quality.model = {self._path!r}: cannot be used ({reason(e)}); {rule}"
            ) from e
        labels = self._model.get_labels()
        if self._label not in labels:
            known = ", ".join(sorted(labels)[:10])
            raise InputError(
                f"corpus.quality.label = {self._label!r}: no label of {self._path}; use one of {known}"
            )

    def score(self, text: str) -> float | None:
        """Probability of the label, 0 to 1; None: the classifier says nothing, as to a text without
        words may happen.
        """
        labels, shares = self._model.predict(one_line(text), k=-1)  # a line end would begin the next text
        if not labels:
            return None
        # labels of next to no probability are left out; rounding takes others above 1
        return min(1.0, float(dict(zip(labels, shares, strict=True)).get(self._label, 0.0)))


def kept(score: float, settings: QualitySection) -> bool:
    """Whether a document of this score is on the side that becomes the corpus; the threshold itself
    is above.
    """
    return (score >= settings.threshold) == (settings.keep == "above")


def train(
    examples: Iterable[tuple[str, str]], path: str | Path, *, epochs: int = 25, dimensions: int = 32
) -> None:
    """Make a small classifier of (label, text) and write it; the same examples give the same
    classifier.

    Raises:
        InputError: there are not two labels to tell apart, or one is none of fastText's.
    """
    import fasttext

    rows = [(label, one_line(text)) for label, text in examples]
    labels = sorted({label for label, _ in rows})
    wrong = next((label for label in labels if not label.startswith(LABEL) or len(label.split()) != 1), None)
    if wrong is not None or len(labels) < 2:
        named = f"label {wrong!r}" if wrong is not None else f"labels {labels}"
        raise InputError(
            f"{named}: a classifier needs two labels or more, each a word that begins with {LABEL}; "
            f"correct them"
        )
    with tempfile.TemporaryDirectory() as folder:
        lines = Path(folder) / "lines.txt"
        lines.write_text("".join(f"{label} {text}\n" for label, text in rows), encoding="utf-8")
        model: Any = fasttext.train_supervised(
            str(lines), epoch=epochs, dim=dimensions, lr=0.5, wordNgrams=2, bucket=50_000, thread=1, verbose=0
        )
    model.save_model(str(path))
