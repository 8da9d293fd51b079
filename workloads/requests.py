"""What is asked, in order: lengths and shared blocks of requests, without times; and how lengths are scaled."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workloads.blocks import BlockIds, freeze
from workloads.workload import LengthScale

NO_SESSION = -1


@dataclass(frozen=True, slots=True)
class Requests:
    """Lengths (int32, tokens) of requests in order, and the ids of their leading blocks of `block_tokens` tokens.

    `sessions` (int64) are equal for turns of one conversation, -1 for a request in none; None where there are none.
    """

    input_tokens: NDArray[np.int32]
    output_tokens: NDArray[np.int32]
    blocks: BlockIds | None = None
    block_tokens: int | None = None
    sessions: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.input_tokens)

    def select(self, rows: NDArray[np.int64]) -> "Requests":
        """Take requests by position, in the order given."""
        blocks = self.blocks.select(rows) if self.blocks is not None else None
        sessions = self.sessions[rows] if self.sessions is not None else None
        return Requests(self.input_tokens[rows], self.output_tokens[rows], blocks, self.block_tokens, sessions)


def scale_requests(requests: Requests, scale: LengthScale) -> tuple[Requests, dict[str, object]]:
    """Fit lengths to what a model can carry: factor, then limit, at least 1 token; and say what was done.

    Blocks shrink with the input factor, so prompts that shared a prefix still do.
    """
    inputs, num_input_capped = _scale(requests.input_tokens, scale.input_factor, scale.max_input_tokens)
    outputs, num_output_capped = _scale(requests.output_tokens, scale.output_factor, scale.max_output_tokens)
    blocks, block_tokens = scale_blocks(requests, inputs, scale.input_factor)
    facts: dict[str, object] = {
        "input_factor": scale.input_factor,
        "output_factor": scale.output_factor,
        "max_input_tokens": scale.max_input_tokens,
        "max_output_tokens": scale.max_output_tokens,
        "num_input_capped": num_input_capped,
        "num_output_capped": num_output_capped,
    }
    return Requests(freeze(inputs), freeze(outputs), blocks, block_tokens, requests.sessions), facts


def scale_blocks(requests: Requests, inputs: NDArray[np.int32], factor: float) -> tuple[BlockIds | None, int | None]:
    """Scale blocks with their prompts, now of `inputs` tokens; none is left beyond a prompt's end."""
    if requests.blocks is None or requests.block_tokens is None:
        return None, None
    block_tokens = max(1, round(requests.block_tokens * factor))
    return requests.blocks.truncate(-(-inputs.astype(np.int64) // block_tokens)), block_tokens


def _scale(tokens: NDArray[np.int32], factor: float, limit: int | None) -> tuple[NDArray[np.int32], int]:
    scaled = np.maximum(np.rint(tokens * factor), 1)
    if limit is None:
        return scaled.astype(np.int32), 0
    return np.minimum(scaled, limit).astype(np.int32), int(np.count_nonzero(scaled > limit))
