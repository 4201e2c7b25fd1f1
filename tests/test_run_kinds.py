"""llmpedia/run_kinds.py: every kind of run folder has all that a kind needs."""

import importlib

import pytest

from llmpedia.errors import InputError
from llmpedia.run_kinds import SPECS, spec_of
from llmpedia.store.kinds import RunKind
from llmpedia.store.run_folder import RunFolder
from tests.support.builders.runs import one_line


def folder_of(path, kind):
    described = {"identity_hash": "x", "identity": {}, "seeds": [], "prompts": {}}
    return RunFolder.create_or_open(str(path), described | ({} if kind is None else {"kind": kind}))


def test_every_kind_has_its_row():
    assert list(SPECS) == list(RunKind)


@pytest.mark.parametrize("kind", RunKind)
def test_every_kind_names_a_check_that_there_is(kind):
    module, _, function = SPECS[kind].check.partition(":")
    assert callable(getattr(importlib.import_module(module), function))


def test_a_folder_without_a_kind_is_a_walk(tmp_path):
    assert folder_of(tmp_path / "run", None).kind == RunKind.WALK


@pytest.mark.parametrize("kind", RunKind)
def test_a_folder_is_of_the_kind_that_it_names(tmp_path, kind):
    assert spec_of(folder_of(tmp_path / "run", kind.value)) is SPECS[kind]


def test_a_kind_that_is_not_known_is_named_with_the_way_out(tmp_path):
    with pytest.raises(InputError) as caught:
        spec_of(folder_of(tmp_path / "run", "dreams"))
    one_line(caught, "'dreams'", "imported, audit")
