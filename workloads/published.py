"""Requests drawn from a published profile: the same ones in the same order, whatever the rate."""

import math

import numpy as np
from numpy.typing import NDArray
from scipy import special

from workloads.blocks import BlockIds, make_blocks, offsets_of
from workloads.catalog import LognormalLengths, PublishedProfile, SharedPrefix
from workloads.requests import Requests
from workloads.streams import StreamName, uniforms

SMALLEST_DRAW = 2.0**-54


def draw_requests(profile: PublishedProfile, count: int, seed: int) -> Requests:
    """Draw the first `count` requests; a longer draw begins with the shorter one."""
    inputs = _draw_lengths(profile.input_tokens, count, seed, "input_lengths")
    outputs = _draw_lengths(profile.output_tokens, count, seed, "output_lengths")
    if profile.shared_prefix is None:
        return Requests(inputs, outputs)
    blocks = _draw_prefixes(profile.shared_prefix, inputs, seed)
    return Requests(inputs, outputs, blocks, profile.shared_prefix.tokens)


def lognormal_sigma(lengths: LognormalLengths) -> float:
    """Return sigma of the lognormal with this median and mean: sqrt(2 ln(mean / median))."""
    return math.sqrt(2 * math.log(lengths.mean / lengths.p50))


def _draw_lengths(lengths: LognormalLengths, count: int, seed: int, stream: StreamName) -> NDArray[np.int32]:
    normals = special.ndtri(np.maximum(uniforms(seed, stream, count), SMALLEST_DRAW))
    tokens = lengths.p50 * np.exp(lognormal_sigma(lengths) * normals)
    return np.clip(np.rint(tokens), lengths.min, lengths.max).astype(np.int32)


def _draw_prefixes(prefix: SharedPrefix, inputs: NDArray[np.int32], seed: int) -> BlockIds:
    """Give sharing requests one block, the whole prefix; a prompt that is no longer than it carries none."""
    does_share = (uniforms(seed, "prefix_share", len(inputs)) < prefix.share_ratio) & (inputs > prefix.tokens)
    choice = (uniforms(seed, "prefix_choice", len(inputs)) * prefix.num_prefixes).astype(np.int64)
    return make_blocks(offsets_of(does_share.astype(np.int64)), choice[does_share])
