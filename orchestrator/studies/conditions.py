"""What must be equal for a fair comparison, as tags: versions, hardware, weights, traffic, cache policy."""

from collections.abc import Mapping, Sequence
from importlib.metadata import version

from orchestrator.domain.study import StudySpec
from orchestrator.studies.candidates import Candidate
from workloads.digest import digest

PACKAGES = ("seatrial", "ray", "mlflow", "optuna")


def versions_of(candidates: Sequence[Candidate]) -> dict[str, str]:
    """Return the versions of ours, of Ray, MLflow and Optuna, and of each candidate's engine."""
    engines = {one.choice.candidate: one.environment.version or "unknown" for one in candidates}
    return {**{name: version(name) for name in PACKAGES}, **engines}


def conditions_of(study: StudySpec, candidates: Sequence[Candidate], host: Mapping[str, str]) -> dict[str, str]:
    """Return what holds for every trial of a study as tags; `host` is what the machine says of itself."""
    return {
        "model": study.model.name,
        "workload_digest": digest(study.workload.model_dump(mode="json")),
        "cache_policy": str(study.cache),
        "via": study.deploy.via,
        "deployer": study.deploy.deployer,
        **_weights(candidates),
        **{f"host.{key}": value for key, value in host.items()},
    }


def _weights(candidates: Sequence[Candidate]) -> dict[str, str]:
    """Say of each fact about weights what all candidates have, or what each has where they differ."""
    facts = {one.choice.candidate: weights_facts(one) for one in candidates}
    merged: dict[str, str] = {}
    for key in dict.fromkeys(key for one in facts.values() for key in one):
        values = {name: one[key] for name, one in facts.items()}
        unequal = "; ".join(f"{name}: {one}" for name, one in values.items())
        merged[key] = unequal if len(set(values.values())) > 1 else next(iter(values.values()))
    return merged


def weights_facts(candidate: Candidate) -> dict[str, str]:
    """Return what identifies a candidate's weights."""
    model = candidate.model
    return {
        "weights_variant": model.variant,
        "weights_precision": model.weights_precision,
        "weights_sha256": model.weights_sha256,
        "weights_source": model.source,
    }
