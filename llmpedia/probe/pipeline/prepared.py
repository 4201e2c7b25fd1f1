"""What the candidate generator is given of each document: its path, who is seen with what, whom it
names, its words.
"""

from collections.abc import Iterator

from llmpedia.probe.candidates.pairs import Prepared
from llmpedia.probe.documents import Sighting
from llmpedia.probe.pipeline.state import BuildState
from llmpedia.probe.settings.build import BuildConfig


def prepared(state: BuildState, config: BuildConfig) -> Iterator[Prepared]:
    """Documents with a sure knowledge point, in order of their numbers."""
    for point, seen, keys in state.labelled():
        if point["error"] is None and point["confidence"] >= config.knowledge.least_confidence:
            sightings = [
                Sighting(**{k: s[k] for k in ("sentence", "subject", "surface", "slot")}) for s in seen
            ]
            yield Prepared(
                point["number"], tuple(point["path"]), sightings, keys, state.texts.text(point["number"])
            )
