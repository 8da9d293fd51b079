"""Whether weights that the driver described are on this node too, fetched here where they are not."""

from adapters.protocol import ModelRef
from orchestrator.domain.errors import DeploymentError, InputError
from orchestrator.domain.study import ModelChoice
from orchestrator.models.describing import weights_sha256_of
from orchestrator.models.fetching import cache_folder, resolve


def ensure_here(model: ModelRef, choice: ModelChoice) -> ModelRef:
    """Return the reference of the same weights on this node, which are fetched or made here where they are missing.

    `model` is the driver's reference to what `choice` names. Content is compared, whatever lies at an equal path.

    Raises:
        DeploymentError: they are not to be had here, or are other weights than the driver's.
    """
    if model.format == "none":
        return model
    try:
        if _is_here(model):
            _compare(model, sha256=weights_sha256_of(model.path, memory=cache_folder()), where=f"{model.path} holds")
            return model
        here = resolve(choice.name, model.variant, path=choice.path, uri=choice.uri)
    except (InputError, OSError) as error:
        raise DeploymentError(
            f"weights of {model.name} ({model.variant}): the driver has them at {model.path}, this node has not, and "
            f"they were not to be had here: {error}; mount that path on every node, or name the model by a uri or a "
            "hub address that every node reaches"
        ) from error
    _compare(model, sha256=here.weights_sha256, where=f"fetched here into {here.path} were")
    _compare_checkpoints(model, here)
    return here


def _is_here(model: ModelRef) -> bool:
    return model.path.exists() and (model.tokenizer_path is None or model.tokenizer_path.exists())


def _compare(model: ModelRef, *, sha256: str, where: str) -> None:
    if sha256 != model.weights_sha256:
        raise DeploymentError(_other(model, where, f"sha256 {sha256}", f"sha256 {model.weights_sha256}"))


def _compare_checkpoints(model: ModelRef, here: ModelRef) -> None:
    if here.checkpoint_digest != model.checkpoint_digest:
        seen, expected = (f"checkpoint {one.checkpoint_digest or 'not known'}" for one in (here, model))
        raise DeploymentError(_other(model, f"fetched here into {here.path} were", seen, expected))


def _other(model: ModelRef, where: str, seen: str, expected: str) -> str:
    return (
        f"weights of {model.name} ({model.variant}): on this node {where} {seen}, on the driver {expected}; "
        "nothing is measured with other weights: give every node the same ones, or pin a revision or an address "
        "whose content does not change"
    )
