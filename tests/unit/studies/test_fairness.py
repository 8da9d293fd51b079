from pathlib import Path
from typing import Any

import pytest

from adapters.samples import sample_model
from orchestrator.analysis.fairness import differences
from orchestrator.domain.environment import EngineEnvironment
from orchestrator.domain.errors import MeasurementRefusedError
from orchestrator.domain.study import EngineChoice
from orchestrator.studies.candidates import Candidate
from orchestrator.studies.fairness import conditions_by_candidate, refuse_unfair, to_tag, weights_text
from tests.study_builders import a_study

HOST = {"cpu_model": "any", "cpu_cores": "2"}
LLAMACPP: dict[str, Any] = {"n_ctx": 2048, "cache_type_k": "bf16", "cache_type_v": "bf16"}
VLLM: dict[str, Any] = {"max_model_len": 2048}


@pytest.fixture
def tokenizer(tmp_path: Path) -> Path:
    path = tmp_path / "tokenizer.json"
    path.write_text("{}")
    return path


def candidate(engine: str, form: Any, tokenizer: Path, **changes: Any) -> Candidate:
    config = changes.pop("config", VLLM if engine == "vllm" else LLAMACPP)
    model = sample_model(form, **{"tokenizer_path": tokenizer, "checkpoint_digest": "ab" * 32, **changes})
    return Candidate(EngineChoice(name=engine, config=config), model, EngineEnvironment("own"))


def unequal(*candidates: Candidate, **changes: Any) -> list[str]:
    study = a_study(engines=tuple(one.choice for one in candidates), **changes)
    return [one.what for one in refuse_unfair(study, conditions_by_candidate(study, candidates, HOST))]


def test_two_engines_on_one_checkpoint_with_equal_settings_are_equal(tokenizer: Path) -> None:
    assert unequal(candidate("llamacpp", "gguf", tokenizer), candidate("vllm", "hf", tokenizer)) == []


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"checkpoint_digest": "cd" * 32}, ["weights"]),
        ({"checkpoint_digest": None}, ["weights"]),
        ({"is_derived": True, "weights_precision": "q8_0"}, ["weights", "weights_precision", "compute_precision"]),
        ({"config": {"n_ctx": 2048}}, ["kv_precision"]),
        ({"config": {**LLAMACPP, "n_ctx": 1024}}, ["context_tokens"]),
        ({"tokenizer_path": None}, ["tokenizer", "prompt_form"]),
    ],
)
def test_each_condition_that_differs_is_found(tokenizer: Path, changes: dict[str, Any], what: list[str]) -> None:
    assert unequal(candidate("llamacpp", "gguf", tokenizer, **changes), candidate("vllm", "hf", tokenizer)) == what


def test_an_engine_that_takes_no_token_ids_is_not_on_equal_terms(tokenizer: Path) -> None:
    found = unequal(candidate("vllm", "hf", tokenizer), candidate("transformers", "hf", tokenizer, config={}))
    assert found == ["context_tokens", "prompt_form"]


def test_a_strict_study_refuses_with_every_difference(tokenizer: Path) -> None:
    pair = (candidate("llamacpp", "gguf", tokenizer, config={"n_ctx": 1024}), candidate("vllm", "hf", tokenizer))
    with pytest.raises(
        MeasurementRefusedError, match=r"(?s)2 conditions.*kv_precision: llamacpp: f16; vllm: bf16.*context"
    ):
        unequal(*pair, fairness="strict")


def test_a_strict_study_of_equal_candidates_goes_on(tokenizer: Path) -> None:
    pair = (candidate("llamacpp", "gguf", tokenizer), candidate("vllm", "hf", tokenizer))
    assert unequal(*pair, fairness="strict") == []


def test_the_tag_holds_what_the_report_compares(tokenizer: Path) -> None:
    pair = (candidate("llamacpp", "gguf", tokenizer), candidate("vllm", "hf", tokenizer))
    study = a_study(engines=tuple(one.choice for one in pair))
    conditions = conditions_by_candidate(study, pair, HOST)
    assert set(to_tag(conditions)) == {"fairness"}
    assert to_tag({"alone": {}}) == {}
    assert differences(conditions) == ()


def test_derived_weights_are_named_as_such(tokenizer: Path) -> None:
    model = candidate("llamacpp", "gguf", tokenizer).model
    derived = model.model_copy(update={"is_derived": True, "weights_precision": "q8_0"})
    assert weights_text(model) == "checkpoint abababababab"
    assert weights_text(derived) == "checkpoint abababababab, derived as q8_0"
