"""Reading studies: every mistake is named with its place, and nothing bad passes."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from orchestrator.domain.errors import InputError
from orchestrator.studies.reading import parse_study, published, read_study


def study(**changes: Any) -> dict[str, Any]:
    base: dict[str, Any] = {
        "name": "s",
        "model": {"name": "none", "variant": "none"},
        "engines": [{"name": "simulated"}],
        "load": {"rates_rps": [1]},
        "slo": {"ttft_s": 1},
    }
    return base | changes


def complaint(data: dict[str, Any]) -> str:
    with pytest.raises(InputError) as caught:
        parse_study(data, "study.yaml")
    return str(caught.value)


def test_every_published_study_reads() -> None:
    assert "demo" in published()
    for name in published():
        assert read_study(name).name == name


def test_unknown_key_names_its_path_and_the_nearest_key() -> None:
    message = complaint(study(window={"mesure_s": 3}))
    assert "study.yaml: window.mesure_s: unknown key" in message
    assert "did you mean 'measure_s'?" in message


def test_unknown_key_inside_a_union_lists_that_branch() -> None:
    message = complaint(study(workload={"source": {"kind": "trace", "path": "x.csv", "start": 3}}))
    assert "workload.source.trace.start" in message
    assert "start_s" in message


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"load": {"rates_rps": [-1]}}, "load.rates_rps.0"),
        ({"load": {}}, "give either rates_rps or users"),
        ({"load": {"rates_rps": [1], "users": [1]}}, "give either rates_rps or users"),
        ({"budget": {"trials": "many"}}, "budget.trials"),
        ({"window": {"measure_s": 0}}, "window.measure_s"),
        ({"slo": {}}, "at least one of"),
        ({"slo": None}, "goodput_rps needs an slo"),
        ({"kind": "sweeep"}, "kind"),
        ({"name": "a/b"}, "name"),
    ],
)
def test_impossible_values_are_named(changes: dict[str, Any], expected: str) -> None:
    assert expected in complaint(study(**changes))


def test_what_was_seen_is_said() -> None:
    assert "seen 'many'" in complaint(study(budget={"trials": "many"}))


def test_all_mistakes_are_said_at_once() -> None:
    message = complaint(study(budget={"trials": 0}, window={"measure_s": 0}))
    assert len(message.splitlines()) == 2


def test_unknown_engine_offers_the_nearest() -> None:
    assert "did you mean 'simulated'?" in complaint(study(engines=[{"name": "simulatd"}]))


def test_unknown_flag_offers_the_nearest() -> None:
    message = complaint(study(engines=[{"name": "llamacpp", "config": {"n_paralel": 2}}]))
    assert "engines.0.config: n_paralel: unknown key" in message
    assert "did you mean 'n_parallel'?" in message


def test_flag_that_cannot_be_searched_is_refused() -> None:
    message = complaint(study(engines=[{"name": "llamacpp", "search": {"n_paralel": [2]}}]))
    assert "engines.0.search" in message
    assert "n_parallel" in message


def test_a_file_that_is_no_yaml_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "broken.yaml"
    path.write_text("a: [1", encoding="utf-8")
    with pytest.raises(InputError, match="not YAML"):
        read_study(str(path))


def test_a_file_that_is_no_mapping_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "list.yaml"
    path.write_text("- 1\n", encoding="utf-8")
    with pytest.raises(InputError, match="expected a mapping"):
        read_study(str(path))


def test_a_missing_file_is_refused() -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_study("nowhere.yaml")


def test_an_unknown_published_study_offers_the_nearest() -> None:
    with pytest.raises(InputError, match="did you mean 'demo'"):
        read_study("dmo")


def test_a_study_survives_its_own_spelling(tmp_path: Path) -> None:
    spec = read_study("demo")
    path = tmp_path / "again.yaml"
    path.write_text(yaml.safe_dump(spec.model_dump(mode="json")), encoding="utf-8")
    assert read_study(str(path)) == spec
    assert read_study(str(path)).digest == spec.digest


def test_a_larger_budget_keeps_the_digest() -> None:
    assert (
        parse_study(study(), "a").digest
        == parse_study(study(budget={"trials": 99}), "a").digest
        != parse_study(study(seed=1), "a").digest
    )


def test_adapters_are_refused_for_an_engine_that_serves_none() -> None:
    message = complaint(study(engines=[{"name": "llamacpp"}], workload={"lora": {"sql": 0.5}}))
    assert "engines.0.name: llamacpp serves no LoRA adapters here, and workload.lora asks sql" in message
    assert "take one of" in message
    assert "vllm" in message.split("take one of")[1]


def test_adapters_pass_for_an_engine_that_serves_them() -> None:
    assert parse_study(study(workload={"lora": {"sql": 0.5}}), "study.yaml").workload.lora == {"sql": 0.5}


def test_shares_beyond_one_name_their_place() -> None:
    assert "workload.lora" in complaint(study(workload={"lora": {"a": 0.7, "b": 0.7}}))
