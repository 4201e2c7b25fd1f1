"""The walk with the small real model under real vLLM: the engine process and the driver are killed in mid-wave.

Its text may differ between runs, so the properties are: nothing lost, nothing doubled, no journaled request asked again.
"""

import os
import shutil
import threading
import time
from collections import Counter
from pathlib import Path

import psutil
import pyarrow.dataset as pads
import pytest
from harness import fingerprint, start_driver

from llmpedia.store.files import Folder
from llmpedia.store.journal import read_piece

pytestmark = pytest.mark.real
CONFIG = Path(__file__).parent.parent / "configs" / "demo.yaml"


class PieceKeeper:
    """Keeps every journal piece a run ever has, though commits remove them."""

    def __init__(self, run: Path, keep: Path) -> None:
        self.run, self.keep, self.stop = run, keep, threading.Event()
        self.keep.mkdir()
        self.thread = threading.Thread(target=self._watch, daemon=True)
        self.thread.start()

    def _watch(self) -> None:
        while not self.stop.wait(0.01):
            for piece in self.run.glob("journal/*/*.jsonl"):
                kept = self.keep / piece.name
                if not kept.exists():
                    try:
                        os.link(piece, kept)
                    except FileNotFoundError:
                        continue

    def keys(self) -> Counter:
        self.stop.set()
        self.thread.join()
        folder = Folder(self.keep)
        return Counter(r["key"] for name in folder.list("") for r in read_piece(folder, name))


def wait_until(holds, seconds, driver=None):
    end = time.monotonic() + seconds
    while not holds():
        assert driver is None or driver.poll() is None, "the driver ended"
        assert time.monotonic() < end, "did not happen in time"
        time.sleep(0.1)


def engine_cores():
    return [p for p in psutil.process_iter(["cmdline"]) if "VLLM::EngineCore" in " ".join(p.info["cmdline"] or [])]


def test_engine_and_driver_killed_in_mid_wave_lose_and_double_nothing(head, tmp_path):
    run = tmp_path / "run"
    keeper = PieceKeeper(run, tmp_path / "kept")
    (tmp_path / "seeds.txt").write_text("Vannevar Bush\nParis\n")
    small = ("--set", f"run.titles={tmp_path}/seeds.txt", "--set", "caps.articles=3", "--set", "article.sections=[2, 2]")
    small += ("--set", "article.words=60", "--set", "article.guided_links=2")
    driver = start_driver(CONFIG, run, head, *small)
    wait_until(lambda: len(list(run.glob("journal/wave=00001/*"))) >= 3, 240, driver)
    engine_cores()[0].kill()
    wait_until(lambda: not engine_cores(), 30)
    pieces = len(list(keeper.keep.iterdir()))
    wait_until(lambda: len(list(keeper.keep.iterdir())) > pieces, 240, driver)  # Serve has replaced the replica, the wave goes on
    assert driver.poll() is None
    driver.kill()
    driver.wait()
    assert start_driver(CONFIG, run, head, *small).wait(400) == 0, (tmp_path / "driver.log").read_text()[-3000:]
    fingerprint(run)
    articles = pads.dataset(run / "tables" / "articles").to_table().to_pylist()
    assert len(articles) == 3
    assert all(not a["sections_missing"] and a["links"] >= 6 for a in articles)
    keys = keeper.keys()
    assert max(keys.values()) == 1, "a journaled request was asked again"
    committed = pads.dataset(run / "tables" / "completions").to_table()["key"].to_pylist()
    assert set(committed) <= set(keys)
    shutil.rmtree(tmp_path / "kept")
