"""The dependence of a series apart from its margin: normal scores, and what they imply for a percentile.

The shape of the values plays no part, so heavy tails do no harm.
"""

from dataclasses import dataclass

import numpy as np
import scipy

from orchestrator.metrics.intervals.autoregression import Floats, fit

MAX_LAG = 4096
NEARLY_ONE = 1.0 - 1e-9  # beyond it only rounding


@dataclass(frozen=True, slots=True)
class NormalScores:
    """A series in order of time by the autocorrelations of its normal scores, from lag 1 until they are negligible."""

    correlations: Floats

    def indicator_inflation(self, p: float) -> float:
        """Return the variance inflation of the series 1 where a value lies below quantile `p`, 0 elsewhere.

        Under a Gaussian copula the covariance at correlation r is P(both below) - p^2, where P(both below) =
        p - 2 T(z, sqrt((1 - r) / (1 + r))) with Owen's T and z the normal quantile. All values speak for the
        dependence, not only the few in the tail, so this varies little from sample to sample.
        Source: Owen (1956), Ann. Math. Statist. 27.
        """
        slopes = np.sqrt((1.0 - self.correlations) / (1.0 + self.correlations))
        covariances = p - 2.0 * scipy.special.owens_t(scipy.special.ndtri(p), slopes) - p * p
        return max(1.0, 1.0 + 2.0 * float(covariances.sum()) / (p * (1.0 - p)))


def normal_scores(series: Floats) -> NormalScores:
    """Fit the normal scores of a series in order of time; equal values share their mean rank.

    Source: van der Waerden (1952); scores at (rank - 1/2) / n.
    """
    _, place, counts = np.unique(series, return_inverse=True, return_counts=True)
    mean_ranks = np.cumsum(counts) - counts / 2
    scores = np.asarray(scipy.special.ndtri(mean_ranks[place] / max(series.size, 1)), dtype=np.float64)
    correlations = fit(scores).autocorrelations(min(series.size - 1, MAX_LAG))
    return NormalScores(np.clip(correlations, -NEARLY_ONE, NEARLY_ONE))
