"""The rules of the house: light imports, few files a folder, short files and functions, data flows
downwards only.

``python benchmarks/house.py`` prints the same measures as one table, and ``--places FOLDER`` what
to look at.
"""

import subprocess
import sys

import pytest

from benchmarks import house

ROOT = house.ROOT
PACKAGE = house.sources("llmpedia")
PRODUCT = house.sources(*house.SOURCES)
EVERYTHING = house.sources(*house.SOURCES, "tests", "benchmarks", "packaging")
GRAPH = house.imports(PRODUCT)
HEAVY = (
    "torch vllm ray faiss transformers sentence_transformers sklearn scipy trafilatura libzim statsmodels "
    "matplotlib spacy pandas"
).split()

# A room of llmpedia -> the rooms that it may not import, at any depth of its code.
JOBS = ["materialize", "audit", "importing", "probe", "perplexity", "grid", "rehearsal"]
UPPER = [*JOBS, "analysis", "site", "run_kinds", "status", "api", "cli"]
MIDDLE = ["engines", "store", "entities", "execution", "web"]
LOWEST = [
    "errors",
    "config",
    "tables",
    "stage_list",
    "stages",
    "prompts",
    "text",
    "wikitext",
    "grammar",
    "review_csv",
    "http",
]


def upper_but(*rooms: str) -> list[str]:
    """The upper rooms but for these."""
    return [name for name in UPPER if name not in rooms]


FORBIDDEN = {
    **{name: [*MIDDLE, *UPPER] for name in LOWEST},
    **{name: ["execution", *UPPER] for name in ("engines", "store", "entities", "web")},
    "execution": ["web", *UPPER],
    "materialize": upper_but("materialize"),
    "audit": upper_but("audit"),
    # An import draws samples and reads titles as an audit does, and its tables are a walk's.
    "importing": upper_but("importing", "audit", "materialize"),
    # The web check of a probe stands on the audit's evidence.
    "probe": upper_but("probe", "audit"),
    "perplexity": upper_but("perplexity", "probe"),
    "grid": upper_but("grid", "materialize", "audit", "analysis"),
    "analysis": upper_but("analysis", *JOBS[:5]),
    "site": upper_but("site", "analysis", "audit", "importing", "probe", "perplexity"),
}


def room(module: str) -> str:
    """The part of the house that a module belongs to."""
    return f"{module}..".split(".")[1]


def test_importing_everything_loads_nothing_heavy():
    names = [source.module for source in PRODUCT]
    program = (
        "import importlib, sys\n"
        f"for name in {names!r}: importlib.import_module(name)\n"
        f"print(*sorted(set({HEAVY!r}) & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr


@pytest.mark.parametrize("name", sorted(FORBIDDEN))
def test_no_room_imports_an_upper_one(name):
    modules = [source.module for source in PACKAGE if room(source.module) == name]
    assert modules, f"{name} is gone: correct this test"
    wrong = [
        f"{m} imports {target}"
        for m in modules
        for target in sorted(GRAPH[m])
        if room(target) in FORBIDDEN[name]
    ]
    assert wrong == []


def test_every_room_of_jobs_has_its_rule():
    rooms = {path.name for path in (ROOT / "llmpedia").iterdir() if (path / "__init__.py").exists()}
    assert rooms - set(FORBIDDEN) == {"rehearsal", "cli"}, "say of a new room what it may not import"


def test_the_package_knows_nothing_of_what_serves_it():
    wrong = [
        f"{m} imports {t}"
        for m, ts in GRAPH.items()
        for t in ts
        if m.startswith("llmpedia") and t.startswith("serving")
    ]
    assert wrong == []


def test_imports_make_no_circle():
    assert house.circles(GRAPH) == []
    assert house.circles(house.rooms(GRAPH)) == []


def test_a_circle_is_seen():
    graph = {"a.x.one": {"a.y.two"}, "a.y.two": {"a.x.three"}, "a.x.three": set()}
    assert house.circles(graph) == []
    assert house.circles({**graph, "a.x.three": {"a.x.one"}}) == [["a.x.one", "a.x.three", "a.y.two"]]


def test_no_folder_holds_more_than_15_files():
    assert {str(f): n for f, n in house.files_by_folder(EVERYTHING).items() if n > 15} == {}


def test_no_file_is_over_480_lines():
    assert {s.module: len(s.lines) for s in PRODUCT if len(s.lines) > house.LONG_FILE} == {}


def test_no_function_is_over_80_lines():
    assert {name: n for name, n in house.function_lengths(PRODUCT).items() if n > 80} == {}


def test_nine_of_ten_functions_are_within_20_lines():
    lengths = sorted(house.function_lengths(PRODUCT).values())
    assert lengths[int(len(lengths) * 0.9)] <= house.LONG_FUNCTION


def test_one_line_in_25_is_over_100_characters_at_most():
    long, total = house.long_lines(PRODUCT)
    assert long / total <= 0.04


def test_one_statement_assigns_one_value():
    """A thousand lines have two tuple assignments at most; swaps and the unpacking of one value are
    none.
    """
    places = house.tuple_assignments(PRODUCT)
    assert len(places) <= 2 * sum(len(s.lines) for s in PRODUCT) / 1000, places


def test_names_say_what_a_value_is():
    assert house.vague_names(PRODUCT) == []


# Modules that still give dict[str, Any] a name of their own: fewer with every change, none in the
# end.
ROW_ALIASES = 42
# Share of modules with a test of their own at their place: more with every change, nine of ten in
# the end.
MIRRORED = 0.56


def test_rows_get_types():
    assert len(house.row_aliases(PRODUCT)) <= ROW_ALIASES


def test_a_class_name_stands_for_one_thing():
    shared = house.class_names(PRODUCT)
    assert len(shared) <= 10, shared


def test_tests_mirror_the_tree():
    """A module has a test of its name at its place; ``__init__`` needs none."""
    modules = [source for source in PRODUCT if source.path.stem != "__init__"]
    missing = house.untested(PRODUCT)
    assert 1 - len(missing) / len(modules) >= MIRRORED, missing


def test_no_module_is_called_utils():
    vague = {"utils", "util", "helpers", "misc"}
    assert [source.module for source in PRODUCT if vague & {source.path.stem, source.path.parent.name}] == []


def test_no_import_is_relative():
    wrong = [s.module for s in EVERYTHING for line in s.lines if line.lstrip().startswith("from .")]
    assert wrong == []
