"""Tests of the blocks of an article."""

from llmpedia.site.wikitext.blocks import Blocks
from llmpedia.site.wikitext.source import read_source
from llmpedia.site.wikitext.tree import ListBlock, Para, Rule, Table, TitleBlock

TEXT = "Lead.\n\n== Title ==\n* one\n** deeper\n* two\n----\n{|\n| cell\n|}\n"


def test_an_article_is_its_blocks_in_order():
    blocks = Blocks(read_source(TEXT)).article()
    assert [type(block) for block in blocks] == [Para, TitleBlock, ListBlock, Rule, Table]
    assert len(blocks[2].items) == 2 and isinstance(blocks[2].items[0][1], ListBlock)


def test_a_heading_inside_of_a_part_is_no_section():
    assert [type(block) for block in Blocks(read_source("")).read("== Title ==")] == [Para]
