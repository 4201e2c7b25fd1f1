"""What is not installed is named in one line, with the way out."""

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
