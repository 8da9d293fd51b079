"""The conditions under which each candidate of a study runs, and the refusal of unequal ones where that is asked."""

import json
from collections.abc import Mapping, Sequence

from adapters import registry
from adapters.protocol import ModelRef
from orchestrator.analysis.fairness import UNKNOWN, Difference, differences
from orchestrator.domain.errors import MeasurementRefusedError
from orchestrator.domain.study import StudySpec
from orchestrator.models.hashing import sha256_of
from orchestrator.studies.candidates import Candidate
from orchestrator.trials import example_plan
from orchestrator.trials.traffic import stop_of
from workloads.digest import digest

DIGEST_CHARS = 12
GREEDY = "greedy, temperature 0"
Conditions = Mapping[str, Mapping[str, str]]


def conditions_by_candidate(study: StudySpec, candidates: Sequence[Candidate], host: Mapping[str, str]) -> Conditions:
    """Say of each candidate what must be equal for a fair comparison."""
    return {one.choice.candidate: _conditions(study, one, host) for one in candidates}


def refuse_unfair(study: StudySpec, conditions: Conditions) -> tuple[Difference, ...]:
    """Return what is not equal between candidates; under `fairness: strict` there must be nothing.

    Raises:
        MeasurementRefusedError: the study is strict and something is not equal; with all of it.
    """
    found = differences(conditions)
    if found and study.fairness == "strict":
        lines = "\n".join(f"  {difference_text(one)}" for one in found)
        raise MeasurementRefusedError(
            f"fairness: strict, and the candidates are not equal in {len(found)} conditions; make them equal, or say "
            f"fairness: report to have them listed with the result:\n{lines}"
        )
    return found


def difference_text(one: Difference) -> str:
    """Spell a difference in one line."""
    return f"{one.what}: {'; '.join(f'{name}: {value}' for name, value in one.values.items())} ({one.why})"


def to_tag(conditions: Conditions) -> dict[str, str]:
    """Spell the conditions as the tag that the report reads; none where there is nothing to compare."""
    return {"fairness": json.dumps(conditions, sort_keys=True)} if len(conditions) > 1 else {}


def _conditions(study: StudySpec, candidate: Candidate, host: Mapping[str, str]) -> dict[str, str]:
    choice, model = candidate.choice, candidate.model
    adapter = registry.get(choice.name)
    capabilities = adapter.capabilities
    config = adapter.config_type.model_validate(choice.config)
    by_ids = capabilities.accepts_token_prompts and study.workload.dialect == "completions"
    in_serve = example_plan(adapter, config, model).executor == "ray"
    return {
        "weights": weights_text(model),
        "tokenizer": _tokenizer(model),
        "weights_precision": model.weights_precision,
        **config.conditions(model),
        "prompt_form": "token ids" if by_ids and model.tokenizer_path is not None else "text",
        "output_length": stop_of(study.workload, capabilities),
        "sampling": GREEDY,
        "hardware": _hardware(host),
        "cores": _cores(study, host),
        "traffic": digest({"workload": study.workload.model_dump(mode="json"), "seed": study.seed}),
        "cache_policy": str(study.cache),
        "via": "serve" if in_serve else study.deploy.via,
    }


def weights_text(model: ModelRef) -> str:
    """Name weights by the checkpoint that they are or derive from, by their file where that is not known."""
    if model.checkpoint_digest is None:
        return f"file {model.weights_sha256[:DIGEST_CHARS]}, its checkpoint is not known"
    derived = f", derived as {model.weights_precision}" if model.is_derived else ""
    return f"checkpoint {model.checkpoint_digest[:DIGEST_CHARS]}{derived}"


def _tokenizer(model: ModelRef) -> str:
    return UNKNOWN if model.tokenizer_path is None else sha256_of(model.tokenizer_path)[:DIGEST_CHARS]


def _hardware(host: Mapping[str, str]) -> str:
    devices = ", ".join(value for key, value in sorted(host.items()) if key.startswith("gpu"))
    return f"{host.get('cpu_model', UNKNOWN)}{', ' + devices if devices else ''}"


def _cores(study: StudySpec, host: Mapping[str, str]) -> str:
    chosen = study.deploy.engine_cpus
    return host.get("cpu_cores", UNKNOWN) if chosen is None else str(len(chosen))
