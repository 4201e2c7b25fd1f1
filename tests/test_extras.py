"""What is not installed is named in one line, with the way out."""

import pytest
from builders import one_line

from llmpedia import extras
from llmpedia.errors import ConfigError


def test_a_missing_extra_is_named_with_its_command(monkeypatch):
    monkeypatch.setitem(extras._MODULES, "audit", ("json", "no_such_module"))
    with pytest.raises(ConfigError) as caught:
        extras.need_extra("audit")
    one_line(caught, "no_such_module", "pip install 'llmpedia[audit]'")
