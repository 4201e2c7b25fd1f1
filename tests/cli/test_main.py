"""Options that a command does not have are named in one line, with what was meant."""

import pytest

from llmpedia.cli.main import main


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            ["export", "r", "--too", "site"],
            "llmpedia: --too: no such option, did you mean --to; see llmpedia export --help",
        ),
        (
            ["export", "r", "--lisence=mit"],
            "llmpedia: --lisence: no such option, did you mean --licence; see llmpedia export --help",
        ),
        (
            ["audit", "run", "r", "--nmae", "x"],
            "llmpedia: --nmae: no such option, did you mean --name; see llmpedia audit run --help",
        ),
        (["verify", "r", "--zzz"], "llmpedia: --zzz: no such option; see llmpedia verify --help"),
        (["verify", "r", "-q", "s"], "llmpedia: unrecognized arguments: -q s; see llmpedia verify --help"),
    ],
)
def test_a_misspelt_option_is_one_line_of_its_command(given, told, capsys):
    assert main(given) == 2
    assert capsys.readouterr().err == f"{told}\n"


def test_a_beginning_of_an_option_stays_one_and_values_may_begin_with_dashes_behind_two(tmp_path, capsys):
    assert main(["plan", "--js", str(tmp_path / "none.yaml")]) == 2
    assert "none.yaml" in capsys.readouterr().err
    assert main(["verify", "--", "--zzz"]) == 2
    assert "--zzz: no run.yaml there" in capsys.readouterr().err
