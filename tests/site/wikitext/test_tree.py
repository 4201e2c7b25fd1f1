"""Tests of what an article is made of."""

from llmpedia.site.wikitext.tree import (
    Labels,
    ListBlock,
    Notes,
    Para,
    Quotation,
    Table,
    TableCell,
    TextRun,
    TitleBlock,
    paragraphs,
    run_lists,
)


def para(text: str) -> Para:
    return Para([TextRun(text)])


def test_paragraphs_of_every_kind_of_block_come_in_the_order_they_are_read():
    blocks = [
        TitleBlock(2, [TextRun("title")]),
        para("1"),
        ListBlock("ul", [[para("2"), ListBlock("ul", [[para("3")]])]]),
        Table([[TableCell([para("5")])]], [para("4")]),
        Quotation([para("6")]),
        Notes([(1, [para("7")])]),
        Labels([[para("8")]]),
    ]
    assert [p.runs[0].text for p in paragraphs(blocks)] == [str(n) for n in range(1, 9)]
    assert [runs[0].text for runs in run_lists(blocks)] == ["title", *(str(n) for n in range(1, 9))]
