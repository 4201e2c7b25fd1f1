"""Tests of Wikitext in which tokens stand for links, notes and parts."""

from llmpedia.site.wikitext.source import read_source, split_template


def test_links_notes_and_templates_are_tokens():
    source = read_source("See [[Rome|the city]]<ref>A note.</ref> and {{lang|la|Roma}}.")
    assert [link.label for link in source.links] == ["the city"]
    assert source.notes == ["A note."]
    assert [part.kind for part in source.parts] == ["template"]
    assert "[[" not in source.text and "<ref" not in source.text and "{{" not in source.text


def test_what_nothing_closes_stays_as_it_is():
    source = read_source("See [[Rome and {{lang")
    assert source.links == [] and source.parts == [] and source.text == "See [[Rome and {{lang"


def test_parameters_of_a_template_have_their_names():
    name, parameters = split_template("Infobox_city | name = Rome |1=x|plain|empty=")
    assert name == "Infobox city"
    assert parameters == [("name", "Rome"), (None, "x"), (None, "plain")]
