"""The taxonomy: what is shipped, and files of users that cannot be told apart or read."""

import json

import pytest

from llmpedia.errors import ConfigError
from llmpedia.probe.candidates.taxonomy import field_of, load_taxonomy, path_text
from tests.support.builders.runs import one_line

TREE = {"Crafts": {"Wood": ["Carving", "Turning"], "Clay": ["Pots"]}, "Games": {"Board": ["Chess"]}}


def written(tmp_path, tree, **more):
    file = tmp_path / "t.json"
    file.write_text(
        tree if isinstance(tree, str) else json.dumps({"source": "test", "taxonomy": tree, **more})
    )
    return str(file)


def test_the_shipped_taxonomy_has_the_published_counts():
    paths = load_taxonomy(None).paths
    assert [len({path[:n] for path in paths}) for n in (1, 2, 3)] == [18, 84, 340]
    assert "SuperGPQA" in load_taxonomy(None).source


def test_reports_group_by_the_middle_level_whose_names_are_unique():
    paths = load_taxonomy(None).paths
    assert len({field_of(path) for path in paths}) == 84
    assert {"News Events and Public Information", "Government and Civic Affairs"} <= {
        field_of(path) for path in paths
    }


def test_paths_go_to_text_and_back():
    taxonomy = load_taxonomy(None)
    assert path_text(("Science", "Physics", "Acoustics")) == "Science > Physics > Acoustics"
    assert [taxonomy.by_text[text] for text in taxonomy.texts] == list(taxonomy.paths)


def test_the_block_holds_every_path_in_order(tmp_path):
    assert (
        load_taxonomy(written(tmp_path, TREE)).block
        == "Crafts\n- Wood: Carving; Turning\n- Clay: Pots\nGames\n- Board: Chess"
    )
    block = load_taxonomy(None).block.split("\n")
    assert (len(block), sum(line.count("; ") + 1 for line in block if line.startswith("- "))) == (
        18 + 84,
        340,
    )


@pytest.mark.parametrize(
    ("tree", "said"),
    [
        ({}, "holds no path"),
        ({"A": {}}, "'A': a discipline holds fields"),
        ({"A": ["B"]}, "'A': a discipline holds fields"),
        ({"A": {"B": []}}, "'A', 'B': a field is a list"),
        ({"A": {"B": [1]}}, "'A', 'B': a field is a list"),
        ({"A": {"B": ["C", "c"]}}, "path 'A > B > C' comes twice"),
        ({"A": {"B": ["C"]}, "D": {"b": ["E"]}}, "field 'B' comes twice"),
        ({"A": {"B > C": ["D"]}}, "field 'B > C'"),
        ({"A": {"B": ["C;D"]}}, "subfield 'C;D'"),
        ({"A": {"B": ["C\nD"]}}, "subfield"),
        ({"": {"B": ["C"]}}, "discipline ''"),
        ('{"source": "s", "taxonomy": {"A": {"B": ["C"]}, "A": {"D": ["E"]}}}', "'A' comes twice"),
        ('{"taxonomy": {"A": {"B": ["C"]}}}', "not {"),
        ("[]", "not {"),
        ("{", "correct the file"),
    ],
)
def test_a_file_whose_paths_cannot_be_told_apart_is_refused(tmp_path, tree, said):
    with pytest.raises(ConfigError) as caught:
        load_taxonomy(written(tmp_path, tree))
    one_line(caught, "knowledge.taxonomy = ", said)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ConfigError) as caught:
        load_taxonomy(str(tmp_path / "none.json"))
    one_line(caught, "none.json", "cannot be read")
