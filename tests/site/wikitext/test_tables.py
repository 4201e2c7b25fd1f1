"""Tests of tables and infoboxes."""

from llmpedia.site.wikitext import tables
from llmpedia.site.wikitext.tree import Block, Para, Table, TextRun


def blocks(text: str) -> list[Block]:
    return [Para([TextRun(text)])] if text else []


def texts(table: Table) -> list[list[str]]:
    return [
        ["".join(run.text for block in cell.blocks for run in block.runs) for cell in row]
        for row in table.rows
    ]


def test_the_three_notations_have_the_same_cells():
    cells = [["H", "I"], ["a", "b"]]
    wikitext = tables.read_table("\n|-\n! H !! I\n|-\n| a || b", blocks)
    html = tables.read_html_table("<tr><th>H</th><th>I</th></tr><tr><td>a</td><td>b</td></tr>", blocks)
    markdown, lines = tables.markdown_table(["|H|I|", "|-|-|", "|a|b|", "text"], 0, blocks)
    assert texts(wikitext) == texts(html) == texts(markdown) == cells and lines == 3
    for table in (wikitext, html, markdown):
        assert [[cell.header for cell in row] for row in table.rows] == [[True, True], [False, False]]


def test_spans_are_read_and_bounded():
    row = tables.read_table('\n| colspan="2" rowspan=999 | a\n', blocks).rows[0]
    assert row[0].colspan == 2 and row[0].rowspan == 50


def test_a_line_without_a_rule_below_is_no_table():
    assert tables.markdown_table(["|H|I|", "|a|b|"], 0, blocks) is None


def test_an_infobox_has_a_caption_and_a_row_a_parameter():
    table = tables.read_infobox("Infobox city|name=Rome|population=3", blocks)
    assert table.infobox and [b.runs[0].text for b in table.caption] == ["Rome"]
    assert texts(table)[0][-1] == "3"
