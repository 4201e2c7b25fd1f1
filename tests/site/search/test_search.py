"""Search as one types: every script, every query, every state of the index."""

import random
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from llmpedia.errors import InputError
from llmpedia.site.data.run_reader import open_runs
from llmpedia.site.search import index as search_index
from llmpedia.site.search.index import build, index_path
from llmpedia.site.search.search import RunSearch, phrases_of
from llmpedia.store.run_folder import RunFolder
from tests.support.builders.runs import Corpus, Visit, one_line, small_disk, three_waves
from tests.support.builders.site import written_run

TEXTS = {
    "Tōkyō": "東京タワーは日本の電波塔です。高さは333メートル。",
    "北京": "北京大学是中国的一所大学。",
    "Ibn Khaldun": "ابن خلدون مؤرخ وُلِدَ في تونس سنة 1332.",
    "Москва": "Москва — столица России. Её называют Третьим Римом, а Пётр переехал.",
    "Athens": "Ἡ Ἀθήνα εἶναι ἡ πρωτεύουσα τῆς Ἑλλάδος, πόλις τοῦ Περικλέους.",
    "Huế": "Nguyễn Đình Chiểu là nhà thơ của Việt Nam.",
    "Straße": "Die große Straße führt nach Gießen und in den Übergang.",
    "Combined": "A cafe\u0301 in Łódź near the sen\u0303or.",
    "Bangkok": "กรุงเทพมหานครเป็นเมืองหลวงของประเทศไทย",
    "Seoul": "서울에서 한강이 흐른다.",
    "Delhi": "दिल्ली भारत की राजधानी है।",
    "C++": "C++ is a language by Bjarne Stroustrup; see also [[C#]] and AC/DC.",
}


@pytest.fixture(autouse=True)
def _cache(tmp_path, monkeypatch):
    monkeypatch.setenv("LLMPEDIA_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def open_search():
    made = []

    def start(folder, wait=True) -> RunSearch:
        search = RunSearch(open_runs([str(folder)])[0])
        made.append(search)
        if wait:
            wait_for(search)
        return search

    yield start
    for search in made:
        search.close()


def wait_for(search: RunSearch) -> None:
    end = time.monotonic() + 60
    while search.note is not None:
        assert time.monotonic() < end, search.note
        time.sleep(0.02)


def built(tmp_path, texts=TEXTS, **more) -> Path:
    """A run with its index, made in this process."""
    corpus = written_run(tmp_path / "run", texts, **more)
    build(corpus.run)
    return tmp_path / "run"


def names(hits) -> list[str]:
    return [hit.name for hit in hits]


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("東京タワー", "Tōkyō"),
        ("電波塔", "Tōkyō"),
        ("タワ", "Tōkyō"),
        ("tokyo", "Tōkyō"),
        ("To\u0304kyo\u0304", "Tōkyō"),
        ("大学", "北京"),
        ("北", "北京"),
        ("خلدون", "Ibn Khaldun"),
        ("ولد", "Ibn Khaldun"),
        ("столица россии", "Москва"),
        ("ее называют", "Москва"),
        ("петр", "Москва"),
        ("πολις", "Athens"),
        ("πόλισ τοῦ", "Athens"),
        ("Αθηνα", "Athens"),
        ("nguyen dinh", "Huế"),
        ("Nguyễn Đình Chiểu", "Huế"),
        ("hue", "Huế"),
        ("strasse", "Straße"),
        ("STRASSE", "Straße"),
        ("gross", "Straße"),
        ("ubergang", "Straße"),
        ("U\u0308bergang", "Straße"),
        ("café", "Combined"),
        ("cafe", "Combined"),
        ("lodz", "Combined"),
        ("señor", "Combined"),
        ("เมืองหลวง", "Bangkok"),
        ("서울", "Seoul"),
        ("राजधानी", "Delhi"),
        ("ac/dc", "C++"),
        ("c++", "C++"),
        ("stroustrup bjarne", "C++"),
        ('"bjarne stroustrup"', "C++"),
        ("stroust", "C++"),
    ],
)
def test_every_script_is_found_with_and_without_accents(tmp_path, open_search, query, name):
    search = open_search(built(tmp_path))
    assert names(search.find(query, 5))[:1] == [name]


@pytest.mark.parametrize(
    "query", ["京東", '"stroustrup bjarne"', "bjarne москва", "troustrup", "北京大学は", "#"]
)
def test_what_is_not_there_is_not_found(tmp_path, open_search, query):
    assert open_search(built(tmp_path)).find(query, 5) == []


def test_the_title_itself_is_first_then_titles_that_begin_so_then_texts(tmp_path, open_search):
    texts = {
        "The Bush": "On shrubs.",
        "Bushido": "The way of warriors.",
        "Kate Bush": "A singer.",
        "Bush": "Plants.",
        "Garden": "bush " * 50,
        "Shrub": "In Latin frutex; see also arbustum.",
    }
    search = open_search(built(tmp_path, texts, aliases={"Frutex": "Shrub", "Busch": "Garden"}))
    assert names(search.find("bush", 10)) == ["Bush", "Bushido", "The Bush", "Kate Bush", "Garden"]
    assert names(search.find("frutex", 10)) == ["Shrub"]
    assert names(search.find("busch", 10)) == ["Garden"]
    assert len(search.find("bush", 3)) == 3


def test_words_of_a_title_count_more_than_the_same_in_a_text(tmp_path, open_search):
    texts = {
        "Iron bridge of Rome": "One.",
        "Other": "Rome, and an iron bridge. " + "Much else is said. " * 20,
    }
    assert names(open_search(built(tmp_path, texts)).find("rome iron", 5)) == ["Iron bridge of Rome", "Other"]


def test_an_excerpt_marks_what_was_searched_for_in_the_text_as_it_is_written(tmp_path, open_search):
    text = (
        "Nothing here. " * 60
        + "At last the Größe of Łódź is told, and <b>Łódź</b> again. "
        + "More follows. " * 60
    )
    search = open_search(built(tmp_path, {"Subject": text.replace("<b>", "\x02").replace("</b>", "\x03")}))
    [hit] = search.find("lodz grosse", 5)
    assert "the \x02Größe\x03 of \x02Łódź\x03 is told" in hit.snippet
    assert hit.snippet.count("\x02") == hit.snippet.count("\x03") == 3
    assert hit.snippet.startswith("… ")
    assert len(hit.snippet) < 300
    assert search.find("subject", 5)[0].snippet.startswith("Nothing here.")


def noise(draw: random.Random) -> str:
    parts = [
        '"',
        "'",
        "*",
        "^",
        "NEAR(",
        "NEAR/2",
        " AND ",
        " OR ",
        " NOT ",
        "(",
        ")",
        "{",
        "}",
        ":",
        "-",
        "+",
        "\x00",
        "\\",
        "%",
        "_",
    ]
    parts += [
        "title:",
        "words",
        "東",
        "é",
        "\u0301",
        "\u202e",
        "\ud800",
        "\U0001f600",
        "\n",
        "\t",
        " ",
        "ß",
        "a",
        "bush",
        ";--",
        "\x02",
    ]
    return "".join(draw.choice(parts) for _ in range(draw.randint(0, 12)))


def test_no_query_is_a_syntax_error(tmp_path, open_search):
    """Each query goes to SQLite itself, whose errors ``find`` would take for a missing index."""
    search = open_search(built(tmp_path))
    index = sqlite3.connect(index_path(search._run.run))
    draw = random.Random(11)
    asked = 0
    for _ in range(3000):
        query = noise(draw)
        for hit in search.find(query, 3):
            assert hit.snippet.count("\x02") == hit.snippet.count("\x03")
        match = " AND ".join(p.fts for p in phrases_of(query))
        if match:
            index.execute("SELECT rowid FROM words WHERE words MATCH ?", (match,)).fetchall()
            asked += 1
    index.close()
    assert asked > 2000


def test_a_long_query_is_cut(tmp_path, open_search):
    search = open_search(built(tmp_path))
    assert len(phrases_of("word " * 10_000)) <= 16
    assert search.find("x" * 1_000_000, 5) == []


def test_titles_are_found_before_there_is_an_index_and_the_note_says_so(tmp_path, open_search, monkeypatch):
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: Never())
    written_run(tmp_path / "run", TEXTS)
    search = open_search(tmp_path / "run", wait=False)
    assert names(search.find("tok", 5)) == ["Tōkyō"]
    assert search.find("電波塔", 5) == []
    assert search.ready() == 0
    assert "0% are done" in search.note


class Never:
    """A build that is under way for ever."""

    stdout = None

    def poll(self):
        return None

    def terminate(self):
        pass

    def wait(self):
        pass


def test_the_index_is_built_in_the_background(tmp_path, open_search):
    written_run(tmp_path / "run", TEXTS, waves=3)
    search = open_search(tmp_path / "run")
    assert (search.ready(), names(search.find("電波塔", 5))) == (1, ["Tōkyō"])


def test_a_run_that_grew_is_indexed_from_where_the_index_ends(tmp_path, open_search):
    corpus = written_run(tmp_path / "run", {"One": "first text", "Two": "second text"}, waves=2)
    build(corpus.run)
    before = waves_of(corpus.run)
    search = open_search(tmp_path / "run")
    corpus.seed("Three")
    corpus.walk(Visit("Three"), damage=lambda rows: rows["articles"][0].update(wikitext="third text"))
    assert search._run.refresh()
    search.refresh()
    wait_for(search)
    after = waves_of(corpus.run)
    assert (len(before), len(after)) == (4, 6)
    assert {**after, **before} == after
    assert sorted(names(search.find("text", 5))) == ["One", "Three", "Two"]
    assert names(search.find("thr", 5)) == ["Three"]


def waves_of(run: RunFolder) -> dict[int, str]:
    with sqlite3.connect(index_path(run)) as index:
        return dict(index.execute("SELECT wave, manifest FROM waves"))


def test_a_killed_build_goes_on_and_doubles_nothing(tmp_path, monkeypatch, open_search):
    corpus = written_run(tmp_path / "run", {f"Subject {n}": f"word{n} common" for n in range(12)}, waves=4)
    real = search_index._add_wave
    added = []

    def once(index, run, tables, wave):
        if len(added) == 3:
            index.execute("BEGIN IMMEDIATE")
            index.execute("INSERT INTO texts VALUES (999, x'00')")
            # the connection closes with an open transaction, as a killed process's does
            raise KeyboardInterrupt
        added.append(wave)
        real(index, run, tables, wave)

    monkeypatch.setattr(search_index, "_add_wave", once)
    with pytest.raises(KeyboardInterrupt):
        build(corpus.run)
    monkeypatch.undo()
    monkeypatch.setenv("LLMPEDIA_CACHE", str(tmp_path / "cache"))
    assert len(waves_of(corpus.run)) == 3
    build(corpus.run)
    search = open_search(tmp_path / "run")
    assert sorted(names(search.find("common", 50))) == sorted(f"Subject {n}" for n in range(12))


def test_two_builds_at_once_make_one_index(tmp_path, open_search):
    corpus = written_run(
        tmp_path / "run", {f"Subject {n}": f"word{n} common " * 20 for n in range(60)}, waves=6
    )
    command = [sys.executable, "-m", "llmpedia.site.search.index", corpus.run.uri]
    builds = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    told = [(process.stdout.read(), process.wait()) for process in builds]
    assert told == [("", 0)] * 2
    with sqlite3.connect(index_path(corpus.run)) as index:
        assert index.execute("SELECT count(*), count(DISTINCT number) FROM texts").fetchone() == (61, 61)
        assert index.execute("SELECT count(*) FROM words WHERE words MATCH 'common'").fetchone() == (60,)
        index.execute("INSERT INTO words(words) VALUES ('integrity-check')")
        assert index.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_build_ends_with_the_process_that_began_it(tmp_path):
    corpus = written_run(tmp_path / "run", {"Subject": "x"})
    holder = sqlite3.connect(prepared(corpus), isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")  # so that the build waits
    command = [sys.executable, "-m", "llmpedia.site.search.index", corpus.run.uri]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(2)
    process.stdin.close()
    assert process.wait(20) != 0
    process.stdout.close()
    holder.close()


def prepared(corpus: Corpus) -> Path:
    path = index_path(corpus.run)
    path.parent.mkdir(parents=True)
    return path


def test_another_run_in_the_same_place_is_indexed_anew(tmp_path, open_search):
    folder = built(tmp_path, {"Old": "ancient text"})
    folder.rename(tmp_path / "gone")
    written_run(folder, {"New": "modern text"})
    search = open_search(folder)
    assert names(search.find("text", 5)) == ["New"]
    assert search.find("ancient", 5) == []


@pytest.mark.parametrize("junk", [b"no database at all " * 300, b"SQLite format 3\x00" + b"\xff" * 5000])
def test_a_broken_index_is_made_anew(tmp_path, open_search, junk):
    folder = built(tmp_path)
    index_path(RunFolder.open(str(folder))).write_bytes(junk)
    assert names(open_search(folder).find("stroustrup", 5)) == ["C++"]


@pytest.fixture
def disk(tmp_path, monkeypatch):
    with small_disk(tmp_path / "disk") as made:
        monkeypatch.setenv("LLMPEDIA_CACHE", str(tmp_path / "disk"))
        yield made


def test_a_full_cache_leaves_titles_and_a_note(tmp_path, disk, open_search):
    corpus = written_run(tmp_path / "run", {f"Subject {n}": f"word{n}" for n in range(9)})
    disk.fill()
    with pytest.raises(InputError) as caught:
        build(corpus.run)
    one_line(caught, tmp_path / "disk", "cannot be written", "LLMPEDIA_CACHE")
    search = open_search(tmp_path / "run", wait=False)
    one_line_note(search)
    assert names(search.find("subject 7", 1)) == ["Subject 7"]
    disk.free()
    search.refresh()
    wait_for(search)
    assert names(search.find("word7", 5)) == ["Subject 7"]


def test_a_read_only_cache_leaves_titles_and_a_note(tmp_path, disk, open_search):
    written_run(tmp_path / "run", TEXTS)
    disk.read_only(True)
    search = open_search(tmp_path / "run", wait=False)
    one_line_note(search)
    assert names(search.find("tok", 5)) == ["Tōkyō"]


def test_a_finished_index_in_a_read_only_cache_is_searched(tmp_path, disk, open_search):
    folder = built(tmp_path, {"Subject": "findable"})
    disk.read_only(True)
    assert names(open_search(folder).find("findable", 5)) == ["Subject"]


def one_line_note(search: RunSearch) -> None:
    end = time.monotonic() + 30
    while not (search.note or "").startswith("only titles are searched: "):
        assert time.monotonic() < end, search.note
        time.sleep(0.02)
    assert "LLMPEDIA_CACHE" in search.note
    assert "\n" not in search.note


def test_a_damaged_run_ends_the_build_with_one_line(tmp_path):
    three_waves(tmp_path / "run")
    (tmp_path / "run/tables/articles/wave=00002/part.parquet").write_bytes(b"x")
    with pytest.raises(InputError) as caught:
        build(RunFolder.open(str(tmp_path / "run")))
    one_line(caught, "articles/wave=00002", "damaged")


def test_a_run_without_articles_has_nothing_to_index(tmp_path, open_search):
    Corpus(tmp_path / "run").seed("Seed")
    search = open_search(tmp_path / "run")
    assert (search.ready(), search.find("seed", 5)) == (1, [])
