"""llmpedia/audit/wikipedia/offline/zim.py: a ZIM file answers as the wiki would, redirects to
sections among them.
"""

import asyncio
import sys

import pytest

from llmpedia.audit.evidence import Outcome
from llmpedia.audit.wikipedia.offline.zim import ZimCopy
from llmpedia.errors import ConfigError, InputError, TransientError

writer = pytest.importorskip("libzim.writer", reason="the extra zim is not installed")

BUSH = """<!DOCTYPE html><html about="//en.wikipedia.org/wiki/Special:Redirect/revision/42"><head><title>x</title>
<link rel="canonical" href="https://en.wikipedia.org/wiki/Vannevar_Bush"></head><body><h1>Vannevar Bush</h1>
<div class="hatnote">For others, see <a class="mw-disambig" href="Bush_(disambiguation)">Bush</a>.</div>
<table class="infobox"><tr><th>Born</th><td>March 11, 1890</td></tr><tr><th>Died</th><td>June 28, 1974</td></tr></table>
<p><b>Vannevar Bush</b> was an American engineer.<sup class="reference"><a href="#n">[1]</a></sup></p>
<h2>Posts</h2><table><tr><th>Year</th><th>Post</th></tr><tr><td>1938</td><td>NACA</td></tr></table>
<ul><li>memex</li></ul><ol class="references"><li>a cited source</li></ol><div class="navbox">Engineers of America</div>
</body></html>"""
FOOT = """<p>A band.</p><a class="external text" href="https://en.wikipedia.org/wiki/AC/DC?oldid=77">Wikipedia</a>
<a class="external text" href="https://en.wikipedia.org/wiki/Other?oldid=6">old</a>"""


def refresh(target):
    return f"""<html><head><title>x</title><meta http-equiv="refresh" content="0;URL='{target}'" /></head><body></body></html>"""


PAGES = {
    "Vannevar_Bush": ("Vannevar Bush", BUSH),
    "IPhone": ("iPhone", "<p>A telephone.</p>"),
    "AC/DC": ("AC/DC", FOOT),
    "Who?": ("Who?", "<p>A question.</p>"),
    "São_Paulo": ("São Paulo", "<p>A city.</p>"),
    "Article_1234": ("Kept under a number", "<p>By title alone.</p>"),
    "Early_life": ("Early life", refresh("./Vannevar_Bush#Early_life")),
    "AC/Deep": ("AC/Deep", refresh("../Who%3F#Part")),
    "Round": ("Round", refresh("./About")),
    "About": ("About", refresh("./Round")),
    "Nowhere": ("Nowhere", refresh("./Not_here#x")),
    "Empty": ("Empty", "<html><body></body></html>"),
    "Boxed": (
        "Boxed",
        '<p>Some things.</p><table id="disambigbox" class="dmbox dmbox-disambig"><tr><td>x</td></tr></table>',
    ),
    "Property": (
        "Property",
        '<html><head><meta property="mw:PageProp/disambiguation"/></head><body><p>x</p></body></html>',
    ),
    "Category": ("Category", '<p>x</p><a href="./Category:Human_name_disambiguation_pages">c</a>'),
    "Bush_(disambiguation)": ("Bush (disambiguation)", "<p>Bush</p>"),
    "Mercury": ("Mercury", "<p> </p><p><b>Mercury</b> most commonly refers to:</p><ul><li>planet</li></ul>"),
    "Law": ("Law", "<p>The law can be written as:</p><p>F = ma</p>"),
    "Term": ("Term", "<p>In physics the term refers to the equation:</p><p>F = ma</p>"),
    "Mentions": (
        "Mentions",
        "<p>The word may refer to an idea. See <a class='mw-disambig' href='x'>x</a>:</p><p>It may be:</p>",
    ),
}
REDIRECTS = {
    "V._Bush": ("V. Bush", "Vannevar_Bush"),
    "VB": ("VB", "V._Bush"),
    "Youth": ("Youth", "Early_life"),
}


class Page(writer.Item):
    def __init__(self, path, title, content, kind="text/html"):
        super().__init__()
        self.fields = path, title, content, kind

    def get_path(self):
        return self.fields[0]

    def get_title(self):
        return self.fields[1]

    def get_mimetype(self):
        return self.fields[3]

    def get_contentprovider(self):
        return writer.StringProvider(self.fields[2])

    def get_hints(self):
        return {writer.Hint.FRONT_ARTICLE: True}


def written(path, metadata):
    with writer.Creator(path) as made:
        made.set_mainpath("Vannevar_Bush")
        for name, value in metadata.items():
            made.add_metadata(name, value)
        for name, (title, content) in PAGES.items():
            made.add_item(Page(name, title, content))
        made.add_item(Page("Picture.svg", "Picture.svg", "<svg/>", "image/svg+xml"))
        for name, (title, target) in REDIRECTS.items():
            made.add_redirection(name, title, target, {writer.Hint.FRONT_ARTICLE: True})
    return path


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return written(tmp_path_factory.mktemp("zim") / "small.zim", {"Date": "2025-01-31"})


@pytest.fixture(scope="module")
def copy(file):
    return ZimCopy(file)


def find(copy, subject):
    return asyncio.run(copy.find(subject))


@pytest.mark.parametrize(
    ("subject", "outcome", "title"),
    [
        ("Vannevar Bush", Outcome.FOUND, "Vannevar Bush"),
        ("vannevar_Bush", Outcome.FOUND, "Vannevar Bush"),
        ("iPhone", Outcome.FOUND, "iPhone"),
        ("AC/DC", Outcome.FOUND, "AC/DC"),
        ("Who?", Outcome.FOUND, "Who?"),
        ("São Paulo", Outcome.FOUND, "São Paulo"),
        ("Kept under a number", Outcome.FOUND, "Kept under a number"),
        ("Mentions", Outcome.FOUND, "Mentions"),
        ("Law", Outcome.FOUND, "Law"),
        ("Term", Outcome.FOUND, "Term"),
        ("V. Bush", Outcome.REDIRECTED, "Vannevar Bush"),
        ("VB", Outcome.REDIRECTED, "Vannevar Bush"),
        ("Early life", Outcome.REDIRECTED, "Vannevar Bush"),
        ("Youth", Outcome.REDIRECTED, "Vannevar Bush"),
        ("AC/Deep", Outcome.REDIRECTED, "Who?"),
        ("Boxed", Outcome.DISAMBIGUATION, None),
        ("Property", Outcome.DISAMBIGUATION, None),
        ("Category", Outcome.DISAMBIGUATION, None),
        ("Bush (disambiguation)", Outcome.DISAMBIGUATION, None),
        ("Mercury", Outcome.DISAMBIGUATION, None),
        ("Nobody at all", Outcome.MISSING, None),
        ("Picture.svg", Outcome.MISSING, None),
        ("Nowhere", Outcome.MISSING, None),
        ("Empty", Outcome.MISSING, None),
        ("Round", Outcome.INVALID, None),
        ("C#", Outcome.INVALID, None),
        ("A|B", Outcome.INVALID, None),
        ("Talk:Who?", Outcome.INVALID, None),
    ],
)
def test_each_subject_has_its_outcome(copy, subject, outcome, title):
    got = find(copy, subject)
    assert (got.tier, got.subject, got.outcome) == ("wikipedia", subject, outcome)
    assert [s.title for s in got.sources] == ([title] if title else [])


@pytest.mark.parametrize(
    "fact", ["American engineer", "Born", "March 11, 1890", "June 28, 1974", "1938", "NACA", "memex", "Posts"]
)
def test_the_text_keeps_infobox_tables_and_lists(copy, fact):
    assert fact in find(copy, "Vannevar Bush").sources[0].text


@pytest.mark.parametrize("noise", ["[1]", "a cited source", "Engineers of America", "For others"])
def test_the_text_is_free_of_notes_and_navigation(copy, noise):
    assert noise not in find(copy, "Vannevar Bush").sources[0].text


def test_the_cells_of_a_row_stay_on_one_line(copy):
    lines = find(copy, "Vannevar Bush").sources[0].text.splitlines()
    assert ["1938", "NACA"] in [line.split() for line in lines]


@pytest.mark.parametrize(
    ("subject", "url", "revision"),
    [
        ("Vannevar Bush", "https://en.wikipedia.org/wiki/Vannevar_Bush", "42"),
        ("AC/DC", "https://en.wikipedia.org/wiki/AC/DC", "77"),
        ("Who?", "zim:small.zim/Who%3F", None),
    ],
)
def test_address_and_revision_are_the_pages_own(copy, subject, url, revision):
    (source,) = find(copy, subject).sources
    assert (source.url, source.revision, source.how) == (url, revision, "page")


def test_the_detail_tells_the_redirects_and_the_state_of_the_copy(copy):
    assert (
        find(copy, "Youth").detail
        == "redirect to 'Early life' and on to 'Vannevar Bush'; local copy of 2025-01-31"
    )


def test_a_file_without_a_date_says_so(tmp_path):
    assert find(ZimCopy(written(tmp_path / "x.zim", {})), "iPhone").detail == "local copy of unknown date"


def test_two_files_have_two_names(copy, tmp_path):
    assert copy.name != ZimCopy(written(tmp_path / "x.zim", {})).name


@pytest.mark.parametrize("content", [None, b"no zim file", b""])
def test_what_is_no_zim_file_is_named(tmp_path, content):
    path = tmp_path / "x.zim"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=r"x\.zim: cannot be opened as a ZIM file"):
        ZimCopy(path)


def test_a_file_cut_off_is_named(tmp_path, file):
    (tmp_path / "cut.zim").write_bytes(file.read_bytes()[:-500])
    with pytest.raises(InputError, match=r"cut\.zim: "):
        ZimCopy(tmp_path / "cut.zim")


def test_without_libzim_the_way_out_is_told(monkeypatch, file):
    monkeypatch.setitem(sys.modules, "libzim.reader", None)
    with pytest.raises(ConfigError, match=r'pip install -c constraints.txt "\.\[zim\]"'):
        ZimCopy(file)


def test_a_failed_read_is_no_missing_page(tmp_path, file):
    """A network or disk failure was once counted as 'not on Wikipedia'."""
    path = tmp_path / "x.zim"
    path.write_bytes(file.read_bytes())
    copy = ZimCopy(path)
    asyncio.run(copy.close())
    path.write_text("overwritten")
    with pytest.raises(TransientError, match="zim:"):
        find(copy, "Nobody at all")


def test_a_closed_copy_opens_again(copy):
    asyncio.run(copy.close())
    assert find(copy, "Who?").outcome == Outcome.FOUND


def test_many_may_ask_at_once(copy):
    async def all_of(subjects):
        return await asyncio.gather(*(copy.find(s) for s in subjects))

    subjects = [title for title, _ in PAGES.values()] * 5
    together = [e.outcome for e in asyncio.run(all_of(subjects))]
    assert together == [find(copy, s).outcome for s in subjects]
