"""A trial that really runs: who is asked for greedy answers, and where they go. The simulated engine answers."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from adapters.protocol import Capabilities, ModelRef
from adapters.samples import sample_model
from adapters.simulated.adapter import SimulatedAdapter
from orchestrator.deploy.local import LocalDeployer
from orchestrator.domain.agreement import GREEDY, GREEDY_ERROR, MAX_TOKENS, PROMPTS, from_text
from orchestrator.domain.clock import SystemClock
from orchestrator.domain.environment import EngineEnvironment
from orchestrator.domain.study import DeploySpec, EngineChoice
from orchestrator.trials.run import TrialRun
from tests.study_builders import a_study, a_trial

TWO = (EngineChoice(name="simulated", label="a"), EngineChoice(name="simulated", label="b"))


class PassesForReal(SimulatedAdapter):
    """The simulated engine without its mark: simulated engines are not asked."""

    capabilities: ClassVar[Capabilities] = replace(SimulatedAdapter.capabilities, is_simulated=False)


@pytest.fixture
def model(tmp_path: Path) -> ModelRef:
    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))  # noqa: S106 - a word, no password
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    path = tmp_path / "tokenizer.json"
    tokenizer.save(str(path))
    return sample_model("none", tokenizer_path=path)


def facts_of(
    model: ModelRef,
    folder: Path,
    *,
    adapter: SimulatedAdapter | None = None,
    engines: tuple[EngineChoice, ...] = TWO,
    number: int = 0,
) -> Mapping[str, str]:
    clock = SystemClock()
    run = TrialRun(
        a_trial(number, engine="simulated", config={}),
        a_study(engines=engines, deploy=DeploySpec(deployer="local", ready_timeout_s=30)),
        model=model,
        adapter=adapter or PassesForReal(),
        deployer=LocalDeployer(clock),
        clock=clock,
        folder=folder,
        environment=EngineEnvironment("own"),
    )
    try:
        run.open()
        return run.facts
    finally:
        run.close()


def test_the_defaults_of_a_candidate_are_asked_before_they_are_measured(model: ModelRef, tmp_path: Path) -> None:
    facts = facts_of(model, tmp_path)
    answers = from_text(facts[GREEDY])
    assert [one.prompt for one in answers] == list(range(len(PROMPTS)))
    assert all(len(one.ids) == MAX_TOKENS and one.top is None for one in answers)
    assert "argv" in facts


def test_an_engine_that_cannot_be_asked_is_measured_all_the_same(model: ModelRef, tmp_path: Path) -> None:
    facts = facts_of(model.model_copy(update={"tokenizer_path": None}), tmp_path)
    assert "tokenizer" in facts[GREEDY_ERROR]
    assert GREEDY not in facts


def test_other_trials_are_not_asked(model: ModelRef, tmp_path: Path) -> None:
    assert not {GREEDY, GREEDY_ERROR} & set(facts_of(model, tmp_path, number=1))


def test_the_only_candidate_is_not_asked(model: ModelRef, tmp_path: Path) -> None:
    assert not {GREEDY, GREEDY_ERROR} & set(facts_of(model, tmp_path, engines=TWO[:1]))


def test_simulated_engines_are_not_asked(model: ModelRef, tmp_path: Path) -> None:
    assert not {GREEDY, GREEDY_ERROR} & set(facts_of(model, tmp_path, adapter=SimulatedAdapter()))
