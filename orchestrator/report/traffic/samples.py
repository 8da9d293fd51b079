"""Measured lengths as a distribution to draw: from the trace's rows where they are at hand, else from the profile."""

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workloads.profile.lengths.model import LengthDistribution
from workloads.profile.model import TraceProfile
from workloads.trace import Trace

Floats = NDArray[np.float64]


class LengthSample(NamedTuple):
    """One side's lengths: `tokens` ascending, the share of requests that are shorter, and that are at most as long."""

    side: str
    distribution: LengthDistribution
    tokens: Floats
    shorter: Floats
    up_to: Floats

    def at(self, probabilities: Floats) -> Floats:
        """Return the measured quantiles, tokens."""
        places = np.searchsorted(self.up_to, probabilities).clip(max=self.tokens.size - 1)
        return np.asarray(self.tokens[places], dtype=np.float64)

    @property
    def num_requests(self) -> int:
        """Return how many requests were measured."""
        return self.distribution.num_requests


def length_samples(profile: TraceProfile, trace: Trace | None) -> tuple[LengthSample, ...]:
    """Return input and output lengths of answered requests, as far as the profile describes them."""
    sides = (("input", profile.input_distribution), ("output", profile.output_distribution))
    return tuple(_sample(side, found, trace) for side, found in sides if found is not None)


def _sample(side: str, distribution: LengthDistribution, trace: Trace | None) -> LengthSample:
    if trace is None:
        shares = np.asarray(distribution.quantiles.probabilities)
        shorter = np.minimum(shares, 1 - 1 / distribution.num_requests)
        return LengthSample(side, distribution, np.asarray(distribution.quantiles.tokens), shorter, shares)
    column = f"{side}_tokens"
    counted = trace.rows.filter(~pl.col("is_failed")).group_by(column).len().sort(column)
    counts = counted["len"].to_numpy().astype(np.float64)
    up_to = counts.cumsum() / counts.sum()
    tokens = counted[column].to_numpy().astype(np.float64)
    return LengthSample(side, distribution, tokens, np.concatenate(([0.0], up_to[:-1])), up_to)
