from pathlib import Path

import pytest
import yaml

from workloads.model import PoissonArrivals, QuantileLengths, TrafficModel
from workloads.schedule import build_open_schedule
from workloads.synthesis.knobs import Knobs, Mix
from workloads.synthesis.profile_file import ProfileError, read_traffic
from workloads.workload import ProfileSource, Workload

LENGTHS = QuantileLengths(probabilities=(0, 1), tokens=(10, 600))
MODEL = TrafficModel(arrivals=PoissonArrivals(), input_tokens=LENGTHS, output_tokens=LENGTHS, rate_rps=5)


def write(folder: Path, content: object) -> Path:
    path = folder / "profile.yaml"
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content), encoding="utf-8")
    return path


def test_a_profile_and_a_bare_model_give_the_same_traffic(tmp_path: Path) -> None:
    plain = MODEL.model_dump(mode="json")
    assert read_traffic(write(tmp_path, {"format": "azure2023", "traffic": plain})) == MODEL
    path = write(tmp_path, plain)
    assert read_traffic(path) == MODEL
    by_path, inline = (
        build_open_schedule(Workload(source=source), rate_rps=4, duration_s=20)
        for source in (ProfileSource(path=path), ProfileSource(traffic=MODEL))
    )
    assert by_path.intended_ns is not None
    assert inline.intended_ns is not None
    assert by_path.intended_ns.tolist() == inline.intended_ns.tolist()
    assert by_path.facts["source"] == {"kind": "profile", "name": "profile.yaml", "digest": MODEL.digest}


def test_the_second_model_of_a_mix_may_be_a_file(tmp_path: Path) -> None:
    path = write(tmp_path, MODEL.model_dump(mode="json"))
    source = ProfileSource(traffic=MODEL, knobs=Knobs(mix=Mix(path=path, share=0.5)))
    facts = build_open_schedule(Workload(source=source), rate_rps=4, duration_s=20).facts
    assert isinstance(facts["arrivals"], dict)
    assert facts["arrivals"]["second"]["digest"] == MODEL.digest
    assert facts["knobs"] == {"mix": {"path": "profile.yaml", "share": 0.5}}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"arivals": {}}, r"profile\.yaml: traffic\.arivals: .*allowed here: arrivals, input_tokens"),
        ({"arrivals": {"kind": "fractal"}}, r"traffic\.arrivals: .*'poisson'.*seen \{'kind': 'fractal'\}"),
        ({"rate_rps": -1}, r"traffic\.rate_rps: .*greater than 0, seen -1"),
        ({"input_tokens": {"kind": "quantiles", "probabilities": [0, 1], "tokens": [5, 1]}}, "ascending"),
    ],
)
def test_a_bad_profile_names_file_key_and_what_is_allowed(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    path = write(tmp_path, {"traffic": MODEL.model_dump(mode="json") | change})
    with pytest.raises(ProfileError, match=message):
        read_traffic(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a: [", "no YAML"),
        ("- 1\n- 2\n", "expected keys and values, seen list"),
        ("traffic:\n", "no request of its trace was answered"),
    ],
)
def test_a_file_that_is_no_profile_is_refused(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(ProfileError, match=message):
        read_traffic(write(tmp_path, content))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match=r"gone\.yaml: cannot be read"):
        read_traffic(tmp_path / "gone.yaml")
