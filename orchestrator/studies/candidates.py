"""A study's candidates made ready: weights in the format that each engine reads, environment, what stops it here."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from adapters import registry
from adapters.protocol import EngineAdapter, Hardware, ModelRef, Violation
from orchestrator.domain.environment import EngineEnvironment
from orchestrator.domain.errors import InputError
from orchestrator.domain.study import EngineChoice, ModelChoice, StudySpec
from orchestrator.environments import MissingEnvironmentError, find_environment
from orchestrator.models import resolve
from orchestrator.trials import example_plan

HF_SUFFIX = "-hf"
OBSTACLES = frozenset({"environment", "hardware"})  # keys of violations that no flag of the candidate can cure


@dataclass(frozen=True, slots=True)
class Candidate:
    """One engine with its weights and environment; `obstacles` say why none of its trials could run here."""

    choice: EngineChoice
    model: ModelRef
    environment: EngineEnvironment
    obstacles: tuple[Violation, ...] = ()


def candidates_of(study: StudySpec, hardware: Hardware) -> tuple[Candidate, ...]:
    """Make every candidate of a study ready; weights are made where they are not there yet.

    Raises:
        InputError: weights or an environment that the study names are not to be had.
    """
    return tuple(_candidate(study, choice, hardware) for choice in study.engines)


def model_for(study: StudySpec, choice: EngineChoice) -> ModelRef:
    """Return a candidate's weights: its own, or the study's in the format that its engine reads.

    Raises:
        InputError: there are none of that name and variant.
    """
    if choice.model is not None:
        return _resolve(choice.model, choice.model.variant)
    formats = registry.get(choice.name).capabilities.formats
    try:
        return _resolve(study.model, variant_in(study.model.variant, formats))
    except InputError as error:
        raise InputError(
            f"engines: {choice.candidate} reads {' or '.join(formats)}: {error}; or give it a model of its own"
        ) from error


def variant_in(variant: str, formats: Sequence[str]) -> str:
    """Return the variant of the same precision in a format of the list: `bf16` is a GGUF, `bf16-hf` a folder."""
    is_folder = variant.endswith(HF_SUFFIX)
    if ("hf" if is_folder else "gguf") in formats:
        return variant
    return variant.removesuffix(HF_SUFFIX) if is_folder else variant + HF_SUFFIX


def needs_proxy(candidate: Candidate) -> bool:
    """Say whether any configuration of a candidate runs inside Serve and is spoken to through its HTTP proxy."""
    choice, adapter = candidate.choice, registry.get(candidate.choice.name)
    searched = [{name: value} for name, values in (choice.search or {}).items() for value in values]
    configs = [adapter.config_type.model_validate({**choice.config, **one}) for one in ({}, *searched)]
    return any(example_plan(adapter, one, candidate.model).executor == "ray" for one in configs)


def _resolve(model: ModelChoice, variant: str) -> ModelRef:
    return resolve(model.name, variant, path=model.path, uri=model.uri)


def _candidate(study: StudySpec, choice: EngineChoice, hardware: Hardware) -> Candidate:
    adapter = registry.get(choice.name)
    model = model_for(study, choice)
    blocked = tuple(one for one in _check(adapter, choice, model, hardware) if one.key in OBSTACLES)
    try:
        return Candidate(choice, model, find_environment(adapter, choice), blocked)
    except MissingEnvironmentError as error:
        absent = EngineEnvironment("installed", version=choice.version, interpreter=Path(sys.executable))
        missing = Violation("environment", "not installed", str(error))
        return Candidate(choice, model, absent, (*blocked, missing))


def _check(adapter: EngineAdapter, choice: EngineChoice, model: ModelRef, hardware: Hardware) -> list[Violation]:
    return adapter.check(adapter.config_type.model_validate(choice.config), model, hardware)
