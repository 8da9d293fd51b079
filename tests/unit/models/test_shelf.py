import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.domain.errors import InputError
from orchestrator.models.shelf import MANIFEST, Recipe, Shelf


class Kitchen:
    """Recipes that count how often they are followed."""

    def __init__(self) -> None:
        self.made: list[str] = []
        self.fails_in: str | None = None
        self.recipes = {
            "flour": Recipe("flour.txt", self.flour),
            "bread": Recipe("bread", self.bread, needs=("flour",)),
            "cake": Recipe("cake.txt", self.cake, needs=("flour",)),
        }

    def flour(self, target: Path, _sources: Mapping[str, Path]) -> str:
        return self._write("flour", target, "flour")

    def bread(self, target: Path, sources: Mapping[str, Path]) -> str:
        target.mkdir()
        (target / "crust.txt").write_text("crust")
        return self._write("bread", target / "crumb.txt", sources["flour"].read_text() + " baked")

    def cake(self, target: Path, sources: Mapping[str, Path]) -> str:
        return self._write("cake", target, sources["flour"].read_text() + " sweet")

    def _write(self, name: str, target: Path, text: str) -> str:
        self.made.append(name)
        target.write_text(text)
        if self.fails_in == name:
            raise KeyboardInterrupt
        return f"{name} made"


@pytest.fixture
def kitchen() -> Kitchen:
    return Kitchen()


def test_only_what_is_asked_for_and_what_it_needs_is_made(kitchen: Kitchen, tmp_path: Path) -> None:
    found = Shelf(tmp_path, kitchen.recipes).obtain(["bread"])
    assert kitchen.made == ["flour", "bread"]
    assert found["bread"].source == "flour made; bread made"
    assert set(found["bread"].files) == {"bread/crumb.txt", "bread/crust.txt"}


def test_a_second_time_makes_and_writes_nothing(kitchen: Kitchen, tmp_path: Path) -> None:
    Shelf(tmp_path, kitchen.recipes).obtain(["bread", "cake"])
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    Shelf(tmp_path, kitchen.recipes, is_thorough=True).obtain(["bread", "cake"])
    assert kitchen.made == ["flour", "bread", "cake"]
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_a_source_that_is_gone_is_not_missed_by_what_was_made_of_it(kitchen: Kitchen, tmp_path: Path) -> None:
    Shelf(tmp_path, kitchen.recipes).obtain(["cake"])
    (tmp_path / "flour.txt").unlink()
    Shelf(tmp_path, kitchen.recipes).obtain(["cake"])
    assert kitchen.made == ["flour", "cake"]


@pytest.mark.parametrize("step", ["flour", "bread"])
def test_an_interrupted_making_leaves_nothing_that_counts(kitchen: Kitchen, tmp_path: Path, step: str) -> None:
    kitchen.fails_in = step
    with pytest.raises(KeyboardInterrupt):
        Shelf(tmp_path, kitchen.recipes).obtain(["bread"])
    assert Shelf(tmp_path, kitchen.recipes).find("bread") is None
    assert not (tmp_path / "bread").exists()
    kitchen.fails_in = None
    Shelf(tmp_path, kitchen.recipes).obtain(["bread"])
    assert (tmp_path / "bread/crumb.txt").read_text() == "flour baked"
    assert list(tmp_path.glob(".part-*")) == []


def test_a_file_in_place_that_no_manifest_names_is_made_anew(kitchen: Kitchen, tmp_path: Path) -> None:
    (tmp_path / "flour.txt").write_text("half of the fl")
    Shelf(tmp_path, kitchen.recipes).obtain(["flour"])
    assert (tmp_path / "flour.txt").read_text() == "flour"


def test_a_changed_file_is_made_anew(kitchen: Kitchen, tmp_path: Path) -> None:
    Shelf(tmp_path, kitchen.recipes).obtain(["bread"])
    (tmp_path / "bread/crumb.txt").write_text("mould")
    Shelf(tmp_path, kitchen.recipes).obtain(["bread"])
    assert (tmp_path / "bread/crumb.txt").read_text() == "flour baked"
    assert kitchen.made == ["flour", "bread", "bread"]


def test_a_file_that_rots_unseen_is_found_by_a_thorough_look(kitchen: Kitchen, tmp_path: Path) -> None:
    Shelf(tmp_path, kitchen.recipes).obtain(["flour"])
    file = tmp_path / "flour.txt"
    stat = file.stat()
    file.write_text("fl0ur")
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    Shelf(tmp_path, kitchen.recipes).obtain(["flour"])
    assert file.read_text() == "fl0ur"
    Shelf(tmp_path, kitchen.recipes, is_thorough=True).obtain(["flour"])
    assert file.read_text() == "flour"


def test_a_file_that_was_only_touched_is_kept(kitchen: Kitchen, tmp_path: Path) -> None:
    Shelf(tmp_path, kitchen.recipes).obtain(["flour"])
    os.utime(tmp_path / "flour.txt", ns=(1, 1))
    Shelf(tmp_path, kitchen.recipes).obtain(["flour"])
    assert kitchen.made == ["flour"]


@pytest.mark.parametrize("content", ["", "{", json.dumps({"artefacts": {"flour": {}}})])
def test_an_unreadable_manifest_costs_a_new_making_only(kitchen: Kitchen, tmp_path: Path, content: str) -> None:
    Shelf(tmp_path, kitchen.recipes).obtain(["flour"])
    (tmp_path / MANIFEST).write_text(content)
    Shelf(tmp_path, kitchen.recipes).obtain(["flour"])
    assert kitchen.made == ["flour", "flour"]


def test_what_an_older_recipe_made_is_made_anew(kitchen: Kitchen, tmp_path: Path) -> None:
    Shelf(tmp_path, kitchen.recipes).obtain(["flour", "cake"])
    newer = {**kitchen.recipes, "cake": replace(kitchen.recipes["cake"], revision=2)}
    for _ in range(2):
        Shelf(tmp_path, newer).obtain(["flour", "cake"])
    assert kitchen.made == ["flour", "cake", "cake"]


def test_two_makers_at_once_make_each_thing_once(kitchen: Kitchen, tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        found = [pool.submit(Shelf(tmp_path, kitchen.recipes).obtain, ["bread", "cake"]) for _ in range(4)]
        assert len({str(one.result()) for one in found}) == 1
    assert sorted(kitchen.made) == ["bread", "cake", "flour"]


KILLED = """
import os, signal, sys
from pathlib import Path
from orchestrator.models.shelf import Recipe, Shelf

def half(target, sources):
    target.write_text("fl")
    os.kill(os.getpid(), signal.SIGKILL)

Shelf(Path(sys.argv[1]), {"flour": Recipe("flour.txt", half)}).obtain(["flour"])
"""


def test_a_maker_that_is_killed_leaves_nothing_that_counts_and_no_lock(kitchen: Kitchen, tmp_path: Path) -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert [path.name for path in tmp_path.glob(".part-*")] == [".part-flour.txt"]
    Shelf(tmp_path, kitchen.recipes).obtain(["flour"])
    assert (tmp_path / "flour.txt").read_text() == "flour"
    assert list(tmp_path.glob(".part-*")) == []


def test_a_folder_that_cannot_be_made_is_said_plainly(kitchen: Kitchen, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InputError, match=r"cannot keep models in .*SEATRIAL_CACHE"):
        Shelf(tmp_path / "file" / "shelf", kitchen.recipes).obtain(["flour"])
