"""What must be equal for a fair comparison, as tags: versions, hardware, weights, traffic, cache policy."""

from importlib.metadata import PackageNotFoundError, version

from adapters import registry
from adapters.protocol import ModelRef
from orchestrator.domain.study import StudySpec
from workloads.digest import digest

PACKAGES = ("seatrial", "ray", "mlflow", "optuna")


def versions_of(study: StudySpec) -> dict[str, str]:
    """Return the versions of ours, of Ray, MLflow and Optuna, and of each engine; a missing one is said."""
    modules = [registry.get(choice.name).environment.module for choice in study.engines]
    return {name: _version(name) for name in (*PACKAGES, *(one for one in modules if one is not None))}


def conditions_of(study: StudySpec, model: ModelRef, host: dict[str, str]) -> dict[str, str]:
    """Return a study's conditions as tags; `host` is what the machine says of itself."""
    return {
        "model": f"{model.name}/{model.variant}",
        "weights_precision": model.weights_precision,
        "weights_sha256": model.weights_sha256,
        "weights_source": model.source,
        "workload_digest": digest(study.workload.model_dump(mode="json")),
        "cache_policy": study.cache,
        "via": study.deploy.via,
        "deployer": study.deploy.deployer,
        **{f"host.{key}": value for key, value in host.items()},
    }


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
