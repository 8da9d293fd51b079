"""Which unquantised checkpoint weights are: a digest of their values that no file format changes, from the files alone.

The digest covers the canonical tensors: Hugging Face names and order of rows, values rounded to BF16, no `lm_head`
where it is the embedding. It covers no setting (rotary base, epsilon) and no tokenizer. Where names, order or
completeness are not certain there is no digest but a reason.
"""

import hashlib
import json
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from orchestrator.domain.errors import InputError
from orchestrator.models.checkpoint import Checkpoint, QuantisedError, open_checkpoint
from orchestrator.models.hashing import combined
from orchestrator.models.llama_layout import EMBEDDING, HEAD, in_hf_order
from orchestrator.models.memory import recall, remember
from orchestrator.models.tensors import StoredTensor, bf16_bits

MEMORY = "provenance.json"
REVISION = 1  # of how digests are computed; what another revision remembered does not count
BLOCK_VALUES = 1 << 24

logger = logging.getLogger(__name__)


class Provenance(BaseModel):
    """A checkpoint's digest, None with the reason where it is not known; `is_derived` as in `ModelRef`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    checkpoint_digest: str | None
    is_derived: bool = False
    reason: str | None = None


def provenance_of(path: Path) -> Provenance:
    """Compute which checkpoint a GGUF file or a Hugging Face folder with safetensors is, reading every tensor."""
    try:
        return _digest(open_checkpoint(path))
    except QuantisedError as error:
        return Provenance(checkpoint_digest=None, is_derived=True, reason=str(error))
    except (InputError, ValueError) as error:  # ValueError: tensors that end early, or rows that are no heads
        return Provenance(checkpoint_digest=None, reason=str(error))


def remembered_provenance(path: Path, *, weights_sha256: str, folder: Path) -> Provenance:
    """Compute a provenance, or recall it from the memory kept in `folder` where the content is the same."""
    config = path / "config.json"
    facts = {"weights": weights_sha256}
    if config.is_file():
        facts["config"] = hashlib.sha256(config.read_bytes()).hexdigest()
    key = f"{REVISION}:{combined(facts)}"
    known = recall(folder / MEMORY).get(key)
    if known is not None:
        return Provenance.model_validate(known)
    logger.info("reading %s for the digest of its checkpoint", path)
    found = provenance_of(path)
    remember(folder / MEMORY, key, found.model_dump())
    return found


def _digest(checkpoint: Checkpoint) -> Provenance:
    digests: dict[str, str] = {}
    is_exact = True
    for name, tensor in checkpoint.tensors.items():
        digests[name], is_exact_here = _digest_of(tensor, checkpoint.permuted_heads(name))
        is_exact = is_exact and is_exact_here
    if digests.get(HEAD) == digests[EMBEDDING]:
        del digests[HEAD]
    shapes: Mapping[str, str] = {name: json.dumps(checkpoint.tensors[name].shape) for name in digests}
    digest = combined({f"{name} {shapes[name]}": one for name, one in digests.items()})
    return Provenance(checkpoint_digest=digest, is_derived=not is_exact)


def _digest_of(tensor: StoredTensor, heads: int | None) -> tuple[str, bool]:
    values = tensor.read() if heads is None else in_hf_order(tensor.read(), heads)
    sha256, is_exact = hashlib.sha256(), True
    for block in _blocks(values):
        rounded = bf16_bits(block)
        sha256.update(rounded.bits.tobytes())
        is_exact = is_exact and rounded.is_exact
    return sha256.hexdigest(), is_exact


def _blocks(values: NDArray[Any]) -> Iterator[NDArray[Any]]:
    values = np.atleast_1d(values)
    rows = max(1, BLOCK_VALUES // max(1, int(np.prod(values.shape[1:]))))
    return (values[start : start + rows] for start in range(0, len(values), rows))
