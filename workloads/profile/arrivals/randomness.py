"""Tests of what arrivals are not: Poisson counts, exponential neighbours, gaps in no order. Each gives a chance p."""

from typing import NamedTuple

import numpy as np
from scipy import stats

from workloads.profile.arrivals.counts import Floats, count_bins

LOCAL_VARIATION_VARIANCE = 1.175  # 4/5, and twice the covariance 0.188 of neighbouring terms (simulated)
COUNTS_PER_BIN = (2, 8, 32, 128, 512)
GAPS_PER_BLOCK = (2, 8, 32, 128, 512)
MIN_BINS = 20


class Finding(NamedTuple):
    """A measured figure and the chance, under the null, of one as far out; 1.0 where too little was seen."""

    value: float
    p: float


def local_variation(gaps_s: Floats) -> Finding:
    """Compare neighbouring gaps: 1 for a Poisson process, however its rate drifts; 3 / (2 k + 1) for gamma gaps.

    Lv of Shinomoto, Shima & Tanji, Neural Computation 15 (2003), eq. 2.2; p is two-sided, from its variance over a
    Poisson process.
    """
    sums = gaps_s[1:] + gaps_s[:-1]
    pairs = sums > 0
    ratios = (gaps_s[1:] - gaps_s[:-1])[pairs] / sums[pairs]
    if ratios.size < MIN_BINS:
        return Finding(1.0, 1.0)
    value = 3.0 * float(np.mean(ratios**2))
    score = abs(value - 1.0) / np.sqrt(LOCAL_VARIATION_VARIANCE / ratios.size)
    return Finding(value, float(2.0 * stats.norm.sf(score)))


def count_dispersion(arrival_s: Floats) -> Finding:
    """Test counts at several bin widths for Poisson dispersion; the value is the variance over mean furthest out.

    Fisher's index of dispersion (Cox & Lewis 1966, section 6.3), two-sided; p is Bonferroni's over the widths.
    """
    sizes = [count for count in COUNTS_PER_BIN if arrival_s.size >= MIN_BINS * count]
    findings = [_index_of_dispersion(count_bins(arrival_s, arrival_s.size // size)) for size in sizes]
    return _worst(findings)


def gap_order(gaps_s: Floats) -> Finding:
    """Test whether gaps come in no order: are sums of neighbouring gaps' scores spread wider than chance makes them?

    The variance ratio of Wright, Journal of Business & Economic Statistics 18 (2000), on normal scores of ranks and
    over blocks that do not overlap, so that the gaps' own law is of no account. The value is the ratio furthest out; p
    is one-sided and Bonferroni's over the block lengths.
    """
    scores = stats.norm.ppf((stats.rankdata(gaps_s) - 0.5) / gaps_s.size)
    scores /= scores.std() or 1.0
    blocks = [size for size in GAPS_PER_BLOCK if gaps_s.size >= MIN_BINS * size]
    return _worst([_variance_ratio(scores, size) for size in blocks])


def _index_of_dispersion(counts: Floats) -> Finding:
    freedom = counts.size - 1
    index = float(counts.var(ddof=1) / counts.mean())
    tail = min(stats.chi2.sf(index * freedom, freedom), stats.chi2.cdf(index * freedom, freedom))
    return Finding(index, float(2.0 * tail))


def _variance_ratio(scores: Floats, size: int) -> Finding:
    num_blocks = scores.size // size
    sums = scores[: num_blocks * size].reshape(num_blocks, size).sum(axis=1)
    ratio = float(np.mean(sums**2)) / size
    return Finding(ratio, float(stats.chi2.sf(ratio * num_blocks, num_blocks)))


def _worst(findings: list[Finding]) -> Finding:
    if not findings:
        return Finding(1.0, 1.0)
    worst = min(findings, key=lambda finding: finding.p)
    return Finding(worst.value, min(1.0, worst.p * len(findings)))
