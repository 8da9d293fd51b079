import shutil
from collections import namedtuple
from pathlib import Path
from uuid import uuid4

import pytest

from orchestrator.domain.errors import TrackingError
from orchestrator.tracking.store import Store, open_store


@pytest.fixture(params=["local", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return open_store(str(tmp_path / "mlruns") if request.param == "local" else f"memory://{uuid4().hex}/runs")


def test_a_store_returns_what_was_put_and_lists_it_sorted(store: Store) -> None:
    store.put("studies/a/two", b"2")
    store.put("studies/a/one", b"1")
    store.put("studies/b/x", b"x")
    store.put("studies/a/one", b"newer")
    assert store.get("studies/a/one") == b"newer"
    assert store.list("studies/a") == ("studies/a/one", "studies/a/two")
    assert store.list("nothing/here") == ()


def test_create_refuses_what_exists_and_leaves_it(store: Store) -> None:
    store.create("lease", b"first")
    with pytest.raises(FileExistsError):
        store.create("lease", b"second")
    assert store.get("lease") == b"first"


def test_a_missing_key_is_an_error_and_may_be_deleted(store: Store) -> None:
    with pytest.raises(FileNotFoundError):
        store.get("absent")
    store.delete("absent")


def test_a_tree_is_copied_whole(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "scratch"
    (folder / "load-1000").mkdir(parents=True)
    (folder / "engine.log").write_bytes(b"log")
    (folder / "load-1000" / "requests.parquet").write_bytes(b"rows")
    keys = store.put_tree(folder, "studies/a/trials/t")
    assert keys == ("studies/a/trials/t/engine.log", "studies/a/trials/t/load-1000/requests.parquet")
    assert store.get(keys[1]) == b"rows"


def test_the_probe_leaves_nothing(store: Store) -> None:
    assert store.list("") == ()


def test_a_file_uri_is_a_local_store(tmp_path: Path) -> None:
    assert open_store(f"file://{tmp_path}/runs").root == tmp_path / "runs"


def test_a_store_below_a_file_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(TrackingError, match="cannot be written"):
        open_store(str(tmp_path / "file" / "mlruns"))


def test_a_full_disk_is_refused_with_its_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")  # noqa: PYI024 - the shape of shutil's own answer
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10, 10, 3 * 2**20))
    with pytest.raises(TrackingError, match="3 MiB free, at least 64 MiB"):
        open_store(str(tmp_path))


def test_a_disk_that_fails_to_write_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(TrackingError, match="No space left"):
        open_store(str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_protocol_says_what_is_expected() -> None:
    with pytest.raises(TrackingError, match="expected a path"):
        open_store("nonsense://bucket/runs")
