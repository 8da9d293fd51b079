"""Knobs on lengths: prompts scaled and shifted, answers scaled. Shared prefixes shrink and grow with their prompts."""

import numpy as np
from numpy.typing import NDArray

from workloads.requests import Requests, scale_blocks
from workloads.synthesis.knobs import Knobs
from workloads.synthesis.lengths import INT32_MAX


def twist_lengths(requests: Requests, knobs: Knobs) -> Requests:
    """Scale prompts, then shift them, and scale answers; prompts keep at least 1 token, an answer of 0 stays one.

    What a shift adds is a request's own and comes last; where it takes away, the end of the prompt goes first.
    """
    if (knobs.input_scale, knobs.input_shift_tokens, knobs.output_scale) == (1.0, 0, 1.0):
        return requests
    inputs = _whole(requests.input_tokens, knobs.input_scale, shift=knobs.input_shift_tokens, lowest=1)
    outputs = _whole(requests.output_tokens, knobs.output_scale, shift=0, lowest=0)
    blocks, block_tokens = scale_blocks(requests, inputs, knobs.input_scale)
    return Requests(inputs, outputs, blocks, block_tokens, requests.sessions)


def _whole(tokens: NDArray[np.int32], scale: float, *, shift: int, lowest: int) -> NDArray[np.int32]:
    whole: NDArray[np.int32] = np.clip(np.rint(tokens * scale + shift), lowest, INT32_MAX).astype(np.int32)
    return whole
