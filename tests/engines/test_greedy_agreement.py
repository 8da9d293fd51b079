"""Three real engines on the same BF16 weights, one after the other: do they take the same tokens?"""

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from adapters import registry
from adapters.protocol import ModelRef
from orchestrator.analysis.agreement import PairAgreement, compare_answers
from orchestrator.deploy.deployment import LocalDeployment
from orchestrator.domain.agreement import PROMPTS, GreedyAnswer, to_text
from orchestrator.models import fetch
from orchestrator.trials.agreement import ask_greedy
from tests.engines.deployments import deployed, request_for

pytestmark = [pytest.mark.engine, pytest.mark.timeout(900)]

MIN_EQUAL = 7
MAX_FACT_CHARS = 6000  # what the tracker keeps in a tag


class Case(NamedTuple):
    engine: str
    variant: str
    settings: dict[str, Any]
    tells_probabilities: bool


VLLM = Case("vllm", "bf16-hf", {}, tells_probabilities=True)  # the shared one
CASES = (
    Case("llamacpp", "bf16", {"n_ctx": 2048, "n_parallel": 2, "n_threads": 1}, tells_probabilities=True),
    Case("transformers", "bf16-hf", {"device": "cpu"}, tells_probabilities=False),
)


def answers_of(case: Case, model: ModelRef, folder: Path) -> tuple[GreedyAnswer, ...]:
    with deployed(request_for(case.engine, model, folder, **case.settings)) as deployment:
        capabilities = registry.get(case.engine).capabilities
        return ask_greedy(deployment.endpoint, capabilities, tokenizer=model.tokenizer_path)


@pytest.fixture(scope="module")
def answers(
    smollm2_variants: dict[str, ModelRef], vllm: LocalDeployment, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, tuple[GreedyAnswer, ...]]:
    own = {
        case.engine: answers_of(case, smollm2_variants[case.variant], tmp_path_factory.mktemp(case.engine))
        for case in CASES
    }
    tokenizer = smollm2_variants[VLLM.variant].tokenizer_path
    capabilities = registry.get(VLLM.engine).capabilities
    return {**own, VLLM.engine: ask_greedy(vllm.endpoint, capabilities, tokenizer=tokenizer)}


@pytest.fixture(scope="module")
def pairs(answers: dict[str, tuple[GreedyAnswer, ...]]) -> tuple[PairAgreement, ...]:
    found = compare_answers(answers)
    for pair in found:
        print(pair.text, *pair.differences, sep="\n  ")  # noqa: T201 - what differs is worth reading, passed or not
    return found


def test_every_two_engines_agree_on_seven_of_ten_prompts(pairs: tuple[PairAgreement, ...]) -> None:
    assert len(pairs) == 3
    for pair in pairs:
        assert pair.num_compared == len(PROMPTS)
        assert pair.num_equal >= MIN_EQUAL, pair


def test_all_three_agree_on_seven_of_ten_prompts(answers: dict[str, tuple[GreedyAnswer, ...]]) -> None:
    taken = zip(*([one.ids for one in each] for each in answers.values()), strict=True)
    assert sum(len(set(each)) == 1 for each in taken) >= MIN_EQUAL


def test_they_read_the_prompts_as_the_same_tokens(pairs: tuple[PairAgreement, ...]) -> None:
    assert [pair.num_recounted for pair in pairs] == [0, 0, 0]


@pytest.mark.parametrize("case", [*CASES, VLLM], ids=lambda case: case.engine)
def test_probabilities_are_there_where_the_engine_tells_them(
    case: Case, answers: dict[str, tuple[GreedyAnswer, ...]]
) -> None:
    for one in answers[case.engine]:
        assert (one.top is not None) == case.tells_probabilities, one
        assert one.prompt_tokens is not None
        for token, top in zip(one.ids, one.top or (), strict=False):
            assert next(iter(top)) == token


def test_the_answers_fit_into_a_tag(answers: dict[str, tuple[GreedyAnswer, ...]]) -> None:
    for engine, each in answers.items():
        text = to_text(each)
        print(engine, len(text), text)  # noqa: T201 - its size is a figure
        assert len(text) < MAX_FACT_CHARS


def test_another_model_with_the_same_tokenizer_is_told_apart(
    smollm2_variants: dict[str, ModelRef], tmp_path: Path
) -> None:
    another = next(one for one in fetch("tiny-llama-8h").variants if one.format == "gguf")
    models = {"one": smollm2_variants["bf16"], "another": another}
    (pair,) = compare_answers({name: answers_of(CASES[0], each, tmp_path / name) for name, each in models.items()})
    assert pair.num_equal == 0
    assert "probably not the same model" in pair.text
