"""What stands around a subject: who is drawn and listed where, and that no two labels meet."""

import pytest

from tests.support.builders.runs import Child, Corpus, Visit, three_waves

pytest.importorskip("fastapi")
pytest.importorskip("nh3")

from llmpedia.site.pages import neighbourhood
from llmpedia.site.pages.neighbourhood import Node, NodeGroup, _cut, _letters, _short, graph_page
from llmpedia.site.urls import OPTIONAL, LiveAddresses
from tests.support.site_pages import EVIL, get, opened

LETTER = 7.6  # of the drawing's units, wider than the mean of any of the fonts at 14


def context(run, number, others=()):
    # Gathering is in the background: the second look has it.
    run._incoming.begin().join()
    return graph_page(run, run.entity(number), others, LiveAddresses(OPTIONAL))


def listed(found):
    return {group.kind: [(node.name, node.mark) for node in group.nodes] for group in found["groups"]}


def drawn(drawing):
    return [placed.node.name for placed in drawing.nodes]


# --- who is there


def test_children_refused_names_and_the_subject_itself(tmp_path):
    three_waves(tmp_path / "run")
    runs, _ = opened(tmp_path / "run")
    found = context(runs[0], 0)
    assert listed(found) == {"child": [("Left", "written"), ("Right", "failed")], "out": [("army", "none")]}
    assert found["left_out"] == 0 and not found["gathering"] and found["visited"]


def test_an_entity_stands_once_however_it_is_called(tmp_path):
    three_waves(tmp_path / "run")
    runs, _ = opened(tmp_path / "run")
    found = context(runs[0], 1)
    assert listed(found) == {
        "parent": [("Root", "written")],
        "child": [("Leaf", "waiting")],
        "known": [("Right", "failed")],
    }
    known = next(group for group in found["groups"] if group.kind == "known").nodes[0]
    assert known.reason == "linked as The Right" and known.href == "/r/run/a/2-right"
    assert "linked as The Right" in known.hint and "its article failed" in known.hint


def test_who_links_it_without_having_named_it(tmp_path):
    three_waves(tmp_path / "run")
    runs, _ = opened(tmp_path / "run")
    assert listed(context(runs[0], 2)) == {"parent": [("Root", "written")], "linking": [("Left", "written")]}


def test_a_name_before_its_turn_has_only_those_who_lead_to_it(tmp_path):
    three_waves(tmp_path / "run")
    runs, client = opened(tmp_path / "run")
    found = context(runs[0], 3)
    assert listed(found) == {"parent": [("Left", "written")]} and not found["visited"]
    assert "Its turn to be written has not come" in get(client, "/r/run/a/3-leaf/graph").text


def test_links_that_are_not_gathered_yet_are_said_to_be_missing(tmp_path, monkeypatch):
    three_waves(tmp_path / "run")
    runs, client = opened(tmp_path / "run")
    monkeypatch.setattr(runs[0], "parents_of_links", lambda number, most: None)
    assert "still being gathered" in get(client, "/r/run/a/2-right/graph").text


def test_what_a_cap_kept_out_is_told_apart(tmp_path):
    Corpus(tmp_path / "run").seed("Root").walk(
        Visit("Root", [Child("Deep", "depth_cap"), Child("Late", "subject_cap")])
    )
    runs, _ = opened(tmp_path / "run")
    assert listed(context(runs[0], 0)) == {"cap": [("Deep", "none"), ("Late", "none")]}


def test_a_seed_alone_has_nothing_around_it(tmp_path):
    Corpus(tmp_path / "run").seed("Root")
    _, client = opened(tmp_path / "run")
    assert "Nothing stands around this subject yet." in get(client, "/r/run/a/0-root/graph").text


# --- the drawings


@pytest.fixture
def crowded(tmp_path):
    """A subject that 40 articles link, with 90 children, 30 known names and 25 refused ones, most
    of them long.
    """
    corpus = Corpus(tmp_path / "run").seed("Root")
    others = [f"Article number {n} of the others that link it" for n in range(40)]
    corpus.walk(Visit("Root", [Child("Middle"), *map(Child, others)]))
    corpus.walk(*(Visit(name, [Child("Middle", "known", "Middle")]) for name in others))
    children = [
        Child(f"{'東京都立大学の長い名前' if n % 3 else 'A rather long name of a child'} {n}")
        for n in range(90)
    ]
    known = [Child(name, "known", name) for name in others[:30]]
    corpus.walk(
        Visit("Middle", [*children, *known, *(Child(f"refused {n}", "ner_rejected") for n in range(25))])
    )
    return opened(tmp_path / "run")


def test_a_crowd_is_drawn_in_part_and_listed_whole(crowded):
    runs, client = crowded
    found = context(runs[0], 1)
    assert found["total"] == 1 + 40 + 90 + 30 + 25
    for drawing in found["drawings"]:
        assert len(drawing.nodes) == found["total"] - found["left_out"] <= 60
        told = [text.text for text in drawing.texts if text.more]
        assert sum(int(text.split()[1]) for text in told) == found["left_out"]
    page = get(client, "/r/run/a/1-middle/graph")
    assert all(node.name in page.text for group in found["groups"] for node in group.nodes)
    assert f"With {found['left_out']} that the drawing has no room for." in page.text


def test_no_two_labels_meet_and_none_leaves_the_drawing(crowded):
    for number in (0, 1, 5):
        for drawing in context(crowded[0][0], number)["drawings"]:
            boxes = []
            shift = 14
            for placed in drawing.nodes:
                # The number behind a name is smaller, and five letters long at most.
                width = LETTER * _letters(placed.label) + (
                    0.8 * LETTER * (1 + len(f"{placed.node.named:,}")) if placed.node.named else 0
                )
                at = placed.x + shift if placed.side == "right" else placed.x - shift - width
                boxes.append((at, placed.y - 9, at + width, placed.y + 9))
            for text in drawing.texts:
                width = LETTER * len(text.text)
                left = text.side == "left"
                at = (
                    text.x - width - (shift if text.more else 0)
                    if left
                    else text.x + (shift if text.more else 0)
                )
                boxes.append((at, text.y - 9, at + width, text.y + 9))
            x, y, width, height = drawing.box
            boxes.append((x, y, x + width, y + height))
            for a in boxes:
                assert a[0] >= 0 and a[2] <= drawing.width and a[1] >= -4 and a[3] <= drawing.height + 4, (
                    drawing.name,
                    a,
                )
            for n, a in enumerate(boxes):
                for b in boxes[n + 1 :]:
                    assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1], (drawing.name, a, b)


def test_the_same_neighbourhood_is_drawn_the_same(crowded):
    one, two = (context(crowded[0][0], 1)["drawings"] for _ in range(2))
    assert one == two and [d.name for d in one] == ["wide", "narrow"] and drawn(one[0]) == drawn(one[1])


def test_room_is_shared_and_what_one_does_not_need_the_others_get():
    def group(kind, n):
        return NodeGroup(kind, kind, tuple(Node(kind, str(i), "", "written", 0, None) for i in range(n)))

    groups = [group("child", 50), group("known", 3), group("out", 50)]
    assert [(len(g.nodes), out) for g, out in _cut(groups, 23)] == [(10, 40), (3, 0), (10, 40)]
    assert [(len(g.nodes), out) for g, out in _cut(groups, 200)] == [(50, 0), (3, 0), (50, 0)]
    assert _cut([], 5) == []


def test_labels_are_cut_by_the_room_they_take():
    assert _short("abc", 3) == "abc" and _short("abcd", 3) == "ab…"
    assert _short("東京都", 5) == "東京…" and _letters("東京") == 4 and _letters("e\u0301") == 1


# --- the page


def test_every_node_is_a_link_that_is_there_and_the_list_says_the_same(tmp_path):
    three_waves(tmp_path / "run")
    _, client = opened(tmp_path / "run")
    page = get(client, "/r/run/a/0-root/graph")
    nodes = [a["href"] for tag, a in page.tags if tag == "a" and a.get("class", "").startswith("node")]
    assert sorted(set(nodes)) == ["/r/run/a/0-root/trace#candidate-3", "/r/run/a/1-left", "/r/run/a/2-right"]
    assert len(nodes) == 2 * 3  # wide and narrow
    rows = [
        a["href"]
        for tag, a in page.tags
        if tag == "a" and a.get("class", "").startswith("wl") and a["href"] in nodes
    ]
    assert sorted(rows) == sorted(set(nodes))
    assert "candidate-3" in get(client, "/r/run/a/0-root/trace").ids
    assert "The model judged that this is no subject for an article of its own." in page.text
    assert len(page.ids) == len(set(page.ids))


def test_hostile_names_are_shown_and_nothing_is_styled_inline(tmp_path):
    names = [EVIL, "\u202eevil ../x AC/DC", "x" * 300, '"><script>x</script>']
    Corpus(tmp_path / "run").seed("Root").walk(
        Visit("Root", [*map(Child, names[:3]), Child(names[3], "ner_rejected")])
    )
    _, client = opened(tmp_path / "run")
    page = get(client, "/r/run/a/0-root/graph")
    for tag, attributes in page.tags:
        assert tag not in ("img", "style") and not [
            a for a in attributes if a.startswith("on") or a == "style"
        ], tag
        assert tag != "script" or attributes["src"].startswith("/static/")
    assert (
        "alert(1)" in page.text
        and len([a for tag, a in page.tags if a.get("class") == "node child waiting"]) == 6
    )


def test_more_links_than_are_listed_are_said_to_be_there(crowded, monkeypatch):
    monkeypatch.setattr(neighbourhood, "_LINKING", 10)
    runs, _ = crowded
    found = context(runs[0], 1)
    linking = next(group for group in found["groups"] if group.kind == "linking")
    assert linking.more and len(linking.nodes) == 9  # the parent is one of ten
    assert any(text.text == "and more" for text in found["drawings"][0].texts)
