"""An environment counts as installed when its stamp is readable and its interpreter is there, and only then."""

from pathlib import Path

import pytest

from orchestrator.environments import installed_environments
from orchestrator.environments.folder import STAMP, engines_folder, interpreter_of, place_of, read_stamp, stamps
from tests.unit.environments.installed import put_environment


def test_the_folder_is_in_the_cache_that_was_chosen(cache: Path) -> None:
    assert engines_folder() == cache / "engines"


def test_without_a_choice_it_is_in_the_users_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("SEATRIAL_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert engines_folder() == tmp_path / "xdg" / "seatrial" / "engines"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert engines_folder() == tmp_path / "home" / ".cache" / "seatrial" / "engines"


def test_one_version_for_two_kinds_of_hardware_has_two_folders() -> None:
    assert place_of("vllm", "1.0", "cpu") != place_of("vllm", "1.0", "cuda")


def test_nothing_is_installed_in_an_empty_cache() -> None:
    assert stamps() == {}


def test_environments_are_told_apart_by_engine() -> None:
    places = {put_environment("vllm", "1.0"), put_environment("vllm", "1.1"), put_environment("llamacpp", "3")}
    assert set(stamps()) == places
    assert [one.stamp.version for one in installed_environments("vllm")] == ["1.0", "1.1"]


@pytest.mark.parametrize("content", [b"", b"{", b"{}", b"\xff\xfe", b'{"engine": "vllm"}'], ids=repr)
def test_a_stamp_that_cannot_be_read_is_none(content: bytes) -> None:
    place = put_environment("vllm", "1.0")
    (place / STAMP).write_bytes(content)
    assert read_stamp(place) is None
    assert stamps() == {}


def test_without_a_stamp_it_is_not_there() -> None:
    (put_environment("vllm", "1.0") / STAMP).unlink()
    assert stamps() == {}


def test_an_interpreter_whose_python_was_removed_is_not_there() -> None:
    place = put_environment("vllm", "1.0")
    interpreter_of(place).unlink()
    interpreter_of(place).symlink_to(place / "removed")
    assert read_stamp(place) is None


def test_a_file_beside_the_environments_is_passed_over() -> None:
    place = put_environment("vllm", "1.0")
    (engines_folder() / "notes.txt").write_text("mine")
    assert list(stamps()) == [place]
