"""llmpedia/audit/wikipedia/offline/dump.py and export.py: an XML dump answers as the wiki would."""

import asyncio
import bz2
import gzip
import html
import sqlite3
import time

import pytest

from llmpedia.audit.evidence import Outcome
from llmpedia.audit.wikipedia.offline.dump import DumpCopy, index_dump
from llmpedia.audit.wikipedia.offline.xml_reader import is_disambiguation, redirect_target
from llmpedia.errors import InputError, TransientError

SITE = """<siteinfo><sitename>Wikipedia</sitename><dbname>testwiki</dbname><base>https://en.wikipedia.org/wiki/Main_Page</base>
<generator>MediaWiki 1.45</generator><case>{case}</case><namespaces><namespace key="0" case="first-letter" />
<namespace key="1" case="first-letter">Diskussion</namespace><namespace key="14" case="first-letter">Category</namespace>
</namespaces></siteinfo>"""
TEXTS = {
    "Vannevar Bush": (
        "'''Vannevar Bush''' (March 11, 1890) was an American [[engineer]].\n\n== "
        "Life ==\nBorn in [[Everett]]."
    ),
    "V. Bush": "#REDIRECT [[Vannevar Bush]]",
    "VB (double)": "#redirect [[V. Bush]]",
    "To section": "#REDIRECT [[vannevar_Bush#Life]]",
    "Loop A": "#REDIRECT [[Loop B]]",
    "Loop B": "#REDIRECT [[Loop A]]",
    "Itself": "#REDIRECT [[Itself]]",
    "To missing": "#REDIRECT [[No such page]]",
    "To category": "#REDIRECT [[:Category:Engineers]]",
    "To disambiguation": "#REDIRECT [[Mercury]]",
    "Mercury": "'''Mercury''' may refer to:\n* [[Mercury (planet)]]\n{{disambiguation|geo}}",
    "IPhone": "The '''iPhone''' is a telephone.",
    "AC/DC": "A band.",
    "São Paulo": "A city.",
    "C": "The third letter.",
    "2001: A Space Odyssey": "A film of 1968.",
    "Empty": "",
}


def revision(number, text, stamp="2025-01-01T00:00:00Z", attributes=""):
    return (
        f"<revision><id>{number}</id><timestamp>{stamp}</timestamp><contributor><username>I</username><id>1</id></contributor>"
        f"<model>wikitext</model><format>text/x-wiki</format>"
        f'<text bytes="{len(text.encode())}" xml:space="preserve" {attributes}>{html.escape(text)}</text>'
        "<sha1>x</sha1></revision>"
    )


def element(title, number, revisions, namespace=0, redirect=""):
    return f"<page><title>{html.escape(title)}</title><ns>{namespace}</ns><id>{number}</id>{redirect}{revisions}</page>"


def export(pages, case="first-letter"):
    site = SITE.format(case=case)
    return (
        f'<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" '
        f'xml:lang="en">{site}{"".join(pages)}</mediawiki>'
    )


def standard():
    pages = [element(title, i, revision(1000 + i, text)) for i, (title, text) in enumerate(TEXTS.items(), 1)]
    return export([*pages, element("Diskussion:C", 90, revision(2000, "Talk."), 1)])


def indexed(folder, xml, name="dump.xml"):
    (folder / name).write_text(xml)
    return index_dump(folder / name, folder / "dump.sqlite")


def opened(folder, xml):
    indexed(folder, xml)
    return DumpCopy(folder / "dump.sqlite")


def find(copy, subject):
    return asyncio.run(copy.find(subject))


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    return opened(tmp_path_factory.mktemp("dump"), standard())


@pytest.mark.parametrize(
    ("subject", "outcome", "title"),
    [
        ("Vannevar Bush", Outcome.FOUND, "Vannevar Bush"),
        ("vannevar_Bush", Outcome.FOUND, "Vannevar Bush"),
        ("iPhone", Outcome.FOUND, "IPhone"),
        ("AC/DC", Outcome.FOUND, "AC/DC"),
        ("Sa\u0303o Paulo", Outcome.FOUND, "São Paulo"),
        ("2001: A Space Odyssey", Outcome.FOUND, "2001: A Space Odyssey"),
        ("V. Bush", Outcome.REDIRECTED, "Vannevar Bush"),
        ("VB (double)", Outcome.REDIRECTED, "Vannevar Bush"),
        ("To section", Outcome.REDIRECTED, "Vannevar Bush"),
        ("Mercury", Outcome.DISAMBIGUATION, None),
        ("To disambiguation", Outcome.DISAMBIGUATION, None),
        ("Nobody at all", Outcome.MISSING, None),
        ("VANNEVAR BUSH", Outcome.MISSING, None),
        ("To missing", Outcome.MISSING, None),
        ("Empty", Outcome.MISSING, None),
        ("Loop A", Outcome.INVALID, None),
        ("Itself", Outcome.INVALID, None),
        ("To category", Outcome.INVALID, None),
        ("C#", Outcome.INVALID, None),
        ("A|C", Outcome.INVALID, None),
        ("Talk:C", Outcome.INVALID, None),
        ("Diskussion:C", Outcome.INVALID, None),
    ],
)
def test_each_subject_has_its_outcome(copy, subject, outcome, title):
    got = find(copy, subject)
    assert (got.tier, got.subject, got.outcome) == ("wikipedia", subject, outcome)
    assert [s.title for s in got.sources] == ([title] if title else [])


def test_a_source_tells_address_revision_and_plain_text(copy):
    (source,) = find(copy, "São Paulo").sources
    number = 1001 + list(TEXTS).index("São Paulo")
    assert (source.url, source.revision, source.how) == (
        "https://en.wikipedia.org/wiki/S%C3%A3o_Paulo",
        str(number),
        "wikitext",
    )
    assert "A city." in source.text


def test_the_detail_tells_the_redirects_and_the_state_of_the_copy(copy):
    detail = find(copy, "VB (double)").detail
    assert detail == "redirect to 'V. Bush' and on to 'Vannevar Bush'; local copy of 2025-01-01T00:00:00Z"


def test_what_could_not_be_found_is_told(copy):
    assert "'No such page'" in find(copy, "To missing").detail


def test_counts_add_up(tmp_path):
    counts = indexed(tmp_path, standard())
    redirected = sum(t.lower().startswith("#redirect") for t in TEXTS.values())
    assert (counts.articles, counts.redirects) == (len(TEXTS) - redirected, redirected)
    assert (counts.disambiguations, counts.without_text, counts.other_namespaces) == (1, 0, 1)


@pytest.mark.parametrize(
    ("name", "pack"), [("d.xml", bytes), ("d.xml.bz2", bz2.compress), ("d.xml.gz", gzip.compress)]
)
def test_packed_and_plain_dumps_are_read(tmp_path, name, pack):
    (tmp_path / name).write_bytes(pack(standard().encode()))
    index_dump(tmp_path / name, tmp_path / "out.sqlite")
    assert find(DumpCopy(tmp_path / "out.sqlite"), "AC/DC").outcome == Outcome.FOUND


def test_streams_of_a_multistream_dump_are_all_read(tmp_path):
    raw = standard().encode()
    (tmp_path / "d.xml.bz2").write_bytes(
        b"".join(bz2.compress(raw[i : i + 2000]) for i in range(0, len(raw), 2000))
    )
    assert index_dump(tmp_path / "d.xml.bz2", tmp_path / "out.sqlite").other_namespaces == 1


def test_the_redirect_element_counts_before_the_text(tmp_path):
    """Words for #REDIRECT differ by language; the export's own element does not."""
    page = element("Alt", 1, revision(1, "#UMLEITUNG [[C]]"), redirect='<redirect title="C" />')
    assert (
        find(opened(tmp_path, export([page, element("C", 2, revision(2, "Letter."))])), "Alt").outcome
        == Outcome.REDIRECTED
    )


def test_the_newest_revision_of_a_full_history_counts(tmp_path):
    old = revision(7, "Old.", "2020-01-01T00:00:00Z")
    new = revision(9, "New.", "2024-01-01T00:00:00Z")
    (source,) = find(opened(tmp_path, export([element("C", 1, new + old)])), "C").sources
    assert (source.revision, source.text.strip()) == ("9", "New.")


@pytest.mark.parametrize("order", [(7, 9), (9, 7)])
def test_the_newer_of_a_page_that_stands_twice_counts(tmp_path, order):
    twice = [element("C", 1, revision(number, f"Text {number}.")) for number in order]
    assert find(opened(tmp_path, export(twice)), "C").sources[0].revision == "9"


def test_titles_of_a_case_sensitive_wiki_keep_their_first_letter(tmp_path):
    copy = opened(tmp_path, export([element("iron", 1, revision(1, "A metal."))], "case-sensitive"))
    assert (find(copy, "iron").outcome, find(copy, "Iron").outcome) == (Outcome.FOUND, Outcome.MISSING)


def test_a_hidden_text_is_no_empty_page(tmp_path):
    hidden = element("H", 1, revision(1, "", attributes='deleted="deleted"'))
    copy = opened(tmp_path, export([hidden, element("C", 2, revision(2, "Letter."))]))
    assert find(copy, "H").outcome == Outcome.INVALID


def test_a_dump_of_stubs_is_refused(tmp_path):
    stub = element("C", 1, revision(1, "").replace('bytes="0"', 'bytes="700"'))
    with pytest.raises(InputError, match="no text of any article; give a dump of the kind pages-articles"):
        indexed(tmp_path, export([stub]))


@pytest.mark.parametrize(
    "damage",
    [
        lambda raw: raw[: len(raw) // 2],
        lambda raw: raw.replace("<siteinfo>", "<odd>").replace("</siteinfo>", "</odd>"),
        lambda raw: raw.replace("mediawiki", "html"),
        lambda raw: "",
        lambda raw: "plain words",
    ],
)
def test_what_is_no_whole_export_is_named_and_leaves_nothing(tmp_path, damage):
    with pytest.raises(InputError, match=r"dump\.xml: no whole XML export") as e:
        indexed(tmp_path, damage(standard()))
    assert "\n" not in str(e.value) and [p.name for p in tmp_path.iterdir()] == ["dump.xml"]


@pytest.mark.parametrize(("name", "pack"), [("d.xml.bz2", bz2.compress), ("d.xml.gz", gzip.compress)])
def test_a_packed_dump_cut_off_is_named(tmp_path, name, pack):
    whole = pack(standard().encode())
    (tmp_path / name).write_bytes(whole[:-20])
    with pytest.raises(InputError, match="no whole XML export"):
        index_dump(tmp_path / name, tmp_path / "out.sqlite")


def test_a_missing_dump_is_named(tmp_path):
    with pytest.raises(InputError, match=r"none\.xml: "):
        index_dump(tmp_path / "none.xml", tmp_path / "out.sqlite")


def test_a_failed_indexing_leaves_the_old_index_alone(tmp_path):
    indexed(tmp_path, standard())
    with pytest.raises(InputError):
        indexed(tmp_path, "broken")
    assert find(DumpCopy(tmp_path / "dump.sqlite"), "C").outcome == Outcome.FOUND


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "d.xml").write_text(standard())
    with pytest.raises(InputError, match="cannot be written"):
        index_dump(tmp_path / "d.xml", tmp_path / "no folder" / "out.sqlite")


def test_progress_is_told_and_ends_within_the_file(tmp_path):
    told = []
    (tmp_path / "d.xml").write_text(
        export(element(f"T{i}", i, revision(i, f"Text {i}.")) for i in range(1, 3001))
    )
    index_dump(tmp_path / "d.xml", tmp_path / "out.sqlite", lambda *x: told.append(x))
    size = (tmp_path / "d.xml").stat().st_size
    assert [t[0] for t in told] == [1000, 2000, 3000, 3000] and all(0 < t[1] <= t[2] == size for t in told)
    assert find(DumpCopy(tmp_path / "out.sqlite"), "T1001").outcome == Outcome.FOUND


@pytest.mark.parametrize("content", [None, "no database"])
def test_what_is_no_index_is_refused(tmp_path, content):
    path = tmp_path / "x.sqlite"
    if content:
        path.write_text(content)
    with pytest.raises(InputError, match=r"x\.sqlite: no index of a dump"):
        DumpCopy(path)


def test_an_index_of_another_version_is_refused(tmp_path):
    indexed(tmp_path, standard())
    base = sqlite3.connect(tmp_path / "dump.sqlite")
    base.execute("UPDATE about SET value = 'other' WHERE name = 'format'")
    base.commit()
    with pytest.raises(InputError, match="index the dump anew"):
        DumpCopy(tmp_path / "dump.sqlite")


def test_a_failed_read_is_no_missing_page(tmp_path):
    """A network or disk failure was once counted as 'not on Wikipedia'."""
    copy = opened(tmp_path, standard())
    asyncio.run(copy.close())
    (tmp_path / "dump.sqlite").write_text("overwritten")
    with pytest.raises(TransientError, match="dump:testwiki"):
        find(copy, "Nobody at all")


def test_a_closed_copy_opens_again(tmp_path):
    copy = opened(tmp_path, standard())
    asyncio.run(copy.close())
    assert find(copy, "C").outcome == Outcome.FOUND


def test_many_may_ask_at_once(copy):
    async def all_of(subjects):
        return await asyncio.gather(*(copy.find(s) for s in subjects))

    subjects = list(TEXTS) * 10
    together = [e.outcome for e in asyncio.run(all_of(subjects))]
    assert together == [find(copy, s).outcome for s in subjects]


def test_copies_of_other_content_have_other_names(tmp_path):
    one = opened(tmp_path, standard()).name
    assert one != opened(tmp_path, export([element("C", 1, revision(1, "x"))])).name


@pytest.mark.parametrize(
    "text",
    [
        "x {{disambiguation}}",
        "x {{Disambiguation|surname|geo}}",
        "x\n{{hndis\n|Smith, John}}",
        "{{Human_name disambiguation}}",
        "{{template:dab}}",
        "x __DISAMBIG__",
        "{{Begriffsklärung}}",
        "{{Disambiguation<!-- why -->}}",
    ],
)
def test_disambiguation_templates_are_told(text):
    assert is_disambiguation(text)


@pytest.mark.parametrize(
    "text",
    [
        "[[Mercury]]{{disambiguation needed|date=June 2020}}",
        "{{about|the planet||Mercury (disambiguation)}}",
        "{{other uses|Mercury (disambiguation)}}",
        "{{R to disambiguation}}",
        "<!-- {{disambiguation}} -->",
        "<nowiki>{{disambiguation}}</nowiki>",
        "word sense disambiguation",
        "{{surname}}",
    ],
)
def test_what_only_speaks_of_disambiguation_is_an_article(text):
    assert not is_disambiguation(text)


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("#REDIRECT [[A b]]", "A b"),
        ("  #redirect:[[A_b#C|d]]\n{{R from x}}", "A b"),
        ("#WEITERLEITUNG [[:Kategorie:X]]", "Kategorie:X"),
        ("See #REDIRECT [[A]]", None),
        ("#REDIRECT A", None),
    ],
)
def test_redirects_are_read_from_the_text(text, target):
    assert redirect_target(text) == target


@pytest.mark.parametrize(
    "text", ["#redirect" + " " * 1_000_000, "{{" + " " * 1_000_000, "{{" * 500_000, "<!--" * 250_000]
)
def test_no_page_takes_long(text):
    """Blanks after #REDIRECT were once tried in every split, in quadratic time."""
    began = time.perf_counter()
    assert (redirect_target(text), is_disambiguation(text)) == (None, False)
    assert time.perf_counter() - began < 2
