"""Settings of a build: what decides what it writes is part of its identity, wherever its files lie."""

import shutil
from pathlib import Path

import pytest

from llmpedia.errors import ConfigError
from llmpedia.probe.settings.build import SHIPPED, load_build_config

BASE = "corpus: {source: c}\n"


def identity(folder: Path, text: str, *sets: str) -> str:
    folder.mkdir(exist_ok=True)
    (folder / "c.yaml").write_text(BASE + text)
    return load_build_config(folder / "c.yaml", list(sets)).identity_hash()


def test_a_changed_file_of_slots_is_another_build(tmp_path):
    shutil.copy(SHIPPED / "slots.yaml", tmp_path / "slots.yaml")
    told = f"pairs: {{slots: {tmp_path}/slots.yaml}}\n"
    before = identity(tmp_path, told)
    (tmp_path / "slots.yaml").write_text((tmp_path / "slots.yaml").read_text() + "# changed\n")
    assert identity(tmp_path, told) != before


def test_the_same_file_elsewhere_is_the_same_build(tmp_path):
    hashes = set()
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        shutil.copy(SHIPPED / "taxonomy.json", tmp_path / name / "t.json")
        hashes.add(identity(tmp_path / name, f"knowledge: {{taxonomy: {tmp_path / name}/t.json}}\n"))
    assert len(hashes | {identity(tmp_path / "c", "")}) == 1


@pytest.mark.parametrize(
    "override", ["pairs.per_document=3", "validation.web=false", "stages.relation.temperature=0.7"]
)
def test_what_decides_the_content_is_identity(tmp_path, override):
    assert identity(tmp_path, "", override) != identity(tmp_path, "")


@pytest.mark.parametrize(
    "override", ["waves.workers=7", "engine.concurrency=3", "web.concurrency=1", "ray.num_cpus=2"]
)
def test_what_decides_the_pace_is_not(tmp_path, override):
    assert identity(tmp_path, "", override) == identity(tmp_path, "")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "corpus: {source: c, least_chars: 9, most_chars: 8}\n",
            "corpus.least_chars: 9: more than most_chars = 8",
        ),
        ("stages: {grade: {}}\n" + BASE, "stages.grade: is no stage of a build"),
        ("knowledge: {}\n", "corpus: missing"),
        (BASE + "pairs: {slots: none.yaml}\n", "pairs.slots = 'none.yaml': no such file"),
        (BASE + "mentions: {backend: flair}\n", "mentions.backend = 'flair'"),
    ],
)
def test_a_setting_at_fault_is_one_line(tmp_path, text, said):
    (tmp_path / "c.yaml").write_text(text)
    with pytest.raises(ConfigError) as e:
        load_build_config(tmp_path / "c.yaml")
    assert said in str(e.value)
    assert "\n" not in str(e.value)
