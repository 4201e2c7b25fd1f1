"""Tests of the words for what became of a link."""

from llmpedia.site.pages import fates
from llmpedia.tables import Fate


def test_every_fate_has_its_words():
    assert {fate for fate in Fate if fates.meaning(fate).sentence} == set(Fate)
