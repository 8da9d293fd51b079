from pathlib import Path

import pytest

from adapters.samples import sample_model
from orchestrator.domain.errors import DeploymentError
from orchestrator.domain.study import ModelChoice
from orchestrator.models import ensure_here, resolve
from tests.unit.models.tiny_weights import Tensors, write_folder


@pytest.fixture
def origin(tmp_path: Path, llama: Tensors) -> Path:
    return write_folder(tmp_path / "share", llama)


@pytest.fixture
def other_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache of a node that is not the driver's."""
    monkeypatch.setenv("SEATRIAL_CACHE", str(tmp_path / "other"))
    return tmp_path / "other"


def test_weights_from_a_store_are_fetched_where_they_are_missing(
    origin: Path, tmp_path: Path, other_node: Path
) -> None:
    choice = ModelChoice(name="mine", uri=f"file://{origin}")
    driver = resolve(choice.name, "any", uri=choice.uri, cache=tmp_path / "driver")
    driver.path.rename(tmp_path / "gone")
    here = ensure_here(driver, choice)
    assert here.path.is_relative_to(other_node)
    assert here.model_copy(update={"path": driver.path}) == driver


def test_weights_that_are_here_are_used_where_they_lie_and_no_store_is_asked(
    origin: Path, tmp_path: Path, other_node: Path
) -> None:
    choice = ModelChoice(name="mine", uri=f"file://{origin}")
    driver = resolve(choice.name, "any", uri=choice.uri, cache=tmp_path / "driver")
    origin.rename(tmp_path / "unreachable")
    assert ensure_here(driver, choice) is driver
    assert not (other_node / "objects").exists()


@pytest.mark.usefixtures("other_node")
def test_a_store_that_holds_other_weights_by_now_is_an_error(origin: Path, tmp_path: Path, llama: Tensors) -> None:
    choice = ModelChoice(name="mine", uri=f"file://{origin}")
    driver = resolve(choice.name, "any", uri=choice.uri, cache=tmp_path / "driver")
    driver.path.rename(tmp_path / "gone")
    origin.rename(tmp_path / "before")
    write_folder(origin, {name: values + 1 for name, values in llama.items()})
    with pytest.raises(
        DeploymentError, match=f"on this node .* sha256 .*, on the driver sha256 {driver.weights_sha256}"
    ):
        ensure_here(driver, choice)


@pytest.mark.usefixtures("other_node")
def test_an_equal_path_that_holds_other_weights_is_an_error(origin: Path, tmp_path: Path, llama: Tensors) -> None:
    driver = resolve("mine", "any", path=origin, cache=tmp_path / "driver")
    origin.rename(tmp_path / "before")
    write_folder(origin, {name: values + 1 for name, values in llama.items()})
    with pytest.raises(DeploymentError, match=f"on this node {origin} holds sha256"):
        ensure_here(driver, ModelChoice(name="mine", path=origin))


@pytest.mark.usefixtures("other_node")
def test_a_path_that_is_not_mounted_here_says_what_to_do(origin: Path, tmp_path: Path) -> None:
    driver = resolve("mine", "any", path=origin, cache=tmp_path / "driver")
    origin.rename(tmp_path / "unmounted")
    with pytest.raises(DeploymentError, match=r"this node has not, .* mount that path on every node, or name .* uri"):
        ensure_here(driver, ModelChoice(name="mine", path=origin))


@pytest.mark.usefixtures("other_node")
def test_a_checkpoint_of_another_digest_is_an_error(origin: Path, tmp_path: Path) -> None:
    choice = ModelChoice(name="mine", uri=f"file://{origin}")
    driver = resolve(choice.name, "any", uri=choice.uri, cache=tmp_path / "driver")
    elsewhere = driver.model_copy(update={"path": tmp_path / "elsewhere", "checkpoint_digest": "another"})
    with pytest.raises(DeploymentError, match=r"were checkpoint .*, on the driver checkpoint another"):
        ensure_here(elsewhere, choice)


def test_an_engine_without_weights_needs_none(other_node: Path) -> None:
    model = sample_model("none")
    assert ensure_here(model, ModelChoice(name="none")) is model
    assert not other_node.exists()
