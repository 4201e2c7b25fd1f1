"""llmpedia/analysis/{probe_figures,probe_report}.py: the whole report, its figures and its page."""

import re
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from llmpedia.analysis.output.drawing import write_figures
from llmpedia.analysis.probe.data import HumanGrade, QuestionFacts
from llmpedia.analysis.probe.figures import probe_figures
from llmpedia.analysis.probe.report import probe_report, write_probe_report
from tests.analysis.probe.test_results import probe

NAMES = ("big <b>&model", "big $off", "small $x_1$")
FIGURES = {"results", "scale", "reasoning", "exposure", "fields", "oracle", "formulation", "perplexity"}


def full():
    """Enough of everything, with names that could break a page or a formula."""
    count = 48
    letters = {
        name: "".join("CPFCPFFPje"[(q * (n + 3) + q // 7) % 10] for q in range(count))
        for n, name in enumerate(NAMES)
    }
    facts = {
        NAMES[0]: QuestionFacts("Fam$ily", 397, True, "gt100"),
        NAMES[1]: QuestionFacts("Fam$ily", 397, False, "gt100"),
    }
    facts[NAMES[2]] = QuestionFacts("_hidden", 2, True, "lt10")
    human = tuple(HumanGrade(NAMES[0], f"q{n:03}", "partial", (True, False)) for n in range(6))
    columns = {
        "group_id": [f"g{n // 2}" for n in range(count)],
        "formulation": ["named_entity", "clue_based"] * (count // 2),
        "path": [("Science", f"Field <{n // 2 % 3}>", "Sub") for n in range(count)],
        "n_maj": [2 + n // 2 % 7 for n in range(count)],
        "n_min": [1 + n // 6 % 2 for n in range(count)],
    }
    return probe(
        letters, facts, {NAMES[0]: {f"q{n:03}": 2.0 + n % 17 for n in range(count)}}, human, **columns
    )


@pytest.fixture(scope="module")
def report():
    return probe_report(full(), strict=False)


@pytest.fixture(scope="module")
def written(report, tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    tables, missing = report
    return folder, write_probe_report(tables, missing, probe_figures(tables), folder)


def test_everything_is_made_that_the_data_allow(report):
    tables, missing = report
    assert set(probe_figures(tables)) == FIGURES
    assert [row["table"] for row in missing] == ["published", "judge_accounts"]
    assert all(tables.values())


def test_what_the_data_do_not_allow_is_named_with_its_reason():
    tables, missing = probe_report(probe({"m": "CPF"}), strict=False)
    assert set(tables) == {"table_01_results", "fields"}
    told = {row["table"]: row["reason"] for row in missing}
    assert set(told) == {
        *(
            "published",
            "scale",
            "size_groups",
            "reasoning",
            "exposure_bins",
            "table_04_exposure",
            "oracle",
            "formulation",
        ),
        *(
            "formulation_mean",
            "perplexity_bins",
            "perplexity_correlation",
            "judge_outcomes",
            "judge_accounts",
        ),
    }
    assert told["oracle"] == "fewer than two models were asked"


def test_without_models_everything_is_missing():
    data = probe({"m": "C"})
    tables, missing = probe_report(type(data)(data.items, {}), strict=True)
    assert tables == {}
    assert all(row["reason"] for row in missing)


def test_tables_are_written_as_data(report, written):
    folder, _ = written
    for name, rows in report[0].items():
        read = pq.ParquetFile(folder / f"{name}.parquet").read(use_threads=False)
        assert read.num_rows == len(rows)


def test_each_figure_is_a_vector_and_a_raster(written):
    folder, paths = written
    for name in FIGURES:
        assert (folder / f"{name}.svg").read_text(encoding="utf-8").startswith("<?xml")
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert {path for path in paths if path.suffix in (".svg", ".png")} == {
        *folder.glob("*.svg"),
        *folder.glob("*.png"),
    }


def test_the_same_rows_give_the_same_bytes(report, written, tmp_path):
    paths = write_figures(probe_figures(report[0]), tmp_path)
    assert len(paths) == 2 * len(FIGURES)
    for path in paths:
        assert path.read_bytes() == (written[0] / path.name).read_bytes(), path.name


def test_names_with_dollars_are_no_formulas(written):
    """matplotlib takes what stands between two dollar signs for TeX, and stops where it is none."""
    text = (written[0] / "results.svg").read_text(encoding="utf-8")
    assert "small $x_1$" in text
    assert "Fam$ily" in (written[0] / "scale.svg").read_text(encoding="utf-8")


def test_a_family_whose_name_begins_with_an_underscore_has_its_line_in_the_legend(written):
    assert "_hidden" in (written[0] / "scale.svg").read_text(encoding="utf-8")


def test_figures_can_be_read_in_grey(written):
    """Outcomes differ by hatching in bars."""
    bars = (written[0] / "results.svg").read_text(encoding="utf-8")
    assert len(set(re.findall(r'<pattern id="(\w+)"', bars))) >= 3


def test_the_settings_of_matplotlib_are_left_as_they_were_and_do_not_matter(report, written, tmp_path):
    import matplotlib

    with matplotlib.rc_context({"axes.facecolor": "red", "font.size": 30}):
        before = dict(matplotlib.rcParams)
        paths = write_figures(probe_figures({"oracle": report[0]["oracle"]}), tmp_path)
        assert dict(matplotlib.rcParams) == before
    assert [path.read_bytes() for path in paths] == [(written[0] / path.name).read_bytes() for path in paths]


def test_a_share_that_counts_as_failed_is_drawn_once(report):
    tables, _ = probe_report(full(), strict=True)
    figure = probe_figures({"table_01_results": tables["table_01_results"]})["results"]
    widths = {}
    for bar in figure.axes[0].patches:
        widths[round(bar.get_y(), 3)] = widths.get(round(bar.get_y(), 3), 0) + bar.get_width()
    assert list(widths.values()) == pytest.approx([100] * 3, abs=0.05)


def test_the_page_shows_every_table_and_figure_and_escapes_names(report, written):
    page = (written[0] / "index.html").read_text(encoding="utf-8")
    assert "big &lt;b&gt;&amp;model" in page
    assert "<b>" not in page
    assert all(f'id="{name}"' in page for name in (*report[0], "missing"))
    assert {f'src="{name}.svg"' for name in FIGURES} == set(re.findall(r'src="[^"]+"', page))
    for link in re.findall(r'(?:href|src)="([^"#]+)"', page):
        assert (written[0] / link).is_file(), link


def test_pyplot_and_pandas_are_no_part_of_drawing(tmp_path):
    """pyplot keeps every figure open, and picks a window system."""
    program = (
        "import sys; from pathlib import Path; sys.path.insert(0, '.')\n"
        "from tests.analysis.probe.test_results import probe\n"
        "from llmpedia.analysis.probe.report import probe_report\n"
        "from llmpedia.analysis.output.drawing import write_figures\n"
        "from llmpedia.analysis.probe.figures import probe_figures\n"
        "assert 'matplotlib' not in sys.modules\n"
        f"write_figures(probe_figures(probe_report(probe({{'a': 'CPF', 'b': 'CCF'}}), False)[0]), "
        f"Path({str(tmp_path)!r}))\n"
        "print('matplotlib.pyplot' in sys.modules)"
    )
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=root
    )
    assert (done.returncode, done.stdout.strip()) == (0, "False"), done.stderr
