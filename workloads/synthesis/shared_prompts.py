"""Requests behind a few shared prompts: which of them begin with which."""

import numpy as np
from numpy.typing import NDArray

from workloads.blocks import BlockIds, make_blocks, offsets_of
from workloads.model import SharedPrompts
from workloads.streams import uniforms

NOT_SHARED = -1


def draw_shared(
    prompts: SharedPrompts, input_tokens: NDArray[np.int32], *, seed: int, share_factor: float = 1.0, scope: str = ""
) -> BlockIds:
    """Give sharing requests one block, the whole shared prompt; a request that is no longer than it has none."""
    choices = choose_prompts(prompts, len(input_tokens), seed=seed, share_factor=share_factor, scope=scope)
    is_sharing = (choices != NOT_SHARED) & (input_tokens > prompts.tokens)
    return make_blocks(offsets_of(is_sharing.astype(np.int64)), choices[is_sharing])


def choose_prompts(
    prompts: SharedPrompts, count: int, *, seed: int, share_factor: float = 1.0, scope: str = ""
) -> NDArray[np.int64]:
    """Choose the shared prompt of each of `count` requests, int64; -1 for none."""
    is_sharing = uniforms(seed, "prefix_share", count, scope=scope) < prompts.share_ratio * share_factor
    choices = (uniforms(seed, "prefix_choice", count, scope=scope) * prompts.num_prefixes).astype(np.int64)
    return np.where(is_sharing, choices, NOT_SHARED)
