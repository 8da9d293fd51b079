"""What a verdict rests on: the three tests of one stretch of arrivals, with their figures put in words."""

from typing import NamedTuple

import numpy as np

from workloads.profile.arrivals.counts import Floats
from workloads.profile.arrivals.model import Evidence
from workloads.profile.arrivals.randomness import Finding, count_dispersion, gap_order, local_variation

ALPHA = 0.005
TINY = 1e-6
CV_SQUARED = (0.01, 25.0)


class Grounds(NamedTuple):
    """Arrivals of a stretch, seconds from its first, and what the tests say of them."""

    arrival_s: Floats
    gaps_s: Floats
    local: Finding
    dispersion: Finding
    order: Finding

    @property
    def is_poisson(self) -> bool:
        """Say whether neither neighbouring gaps nor counts are out of the ordinary for a Poisson process."""
        return self.is_locally_poisson and self.dispersion.p >= ALPHA

    @property
    def is_locally_poisson(self) -> bool:
        """Say whether neighbouring gaps are a Poisson process's; then uneven counts are the rate's doing."""
        return self.local.p >= ALPHA

    @property
    def is_unordered(self) -> bool:
        """Say whether gaps could stand in any order."""
        return self.order.p >= ALPHA

    @property
    def gap_cv(self) -> float:
        """Return the sample CV (n - 1) of all gaps."""
        return float(self.gaps_s.std(ddof=1) / self.gaps_s.mean())

    @property
    def local_cv(self) -> float:
        """Return the CV of the gamma gaps that neighbouring gaps resemble; 1 where a Poisson process explains them."""
        if self.is_locally_poisson:
            return 1.0
        return float(np.clip(2.0 / max(3.0 / max(self.local.value, TINY) - 1.0, TINY), *CV_SQUARED) ** 0.5)

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """Return the figures of the three tests in words."""
        return (
            _put("local variation", self.local, "1 for Poisson gaps, whatever the rate does over minutes"),
            _put("count dispersion", self.dispersion, "variance over mean of counts, 1 for a Poisson process"),
            _put("gap order", self.order, "1 where gaps come in no order, more where gaps of a size keep together"),
        )


def gather_grounds(arrival_s: Floats) -> Grounds:
    """Run the tests on arrivals in seconds, ascending from 0."""
    gaps_s = np.diff(arrival_s)
    return Grounds(arrival_s, gaps_s, local_variation(gaps_s), count_dispersion(arrival_s), gap_order(gaps_s))


def _put(name: str, finding: Finding, meaning: str) -> Evidence:
    chance = f"p = {finding.p:.2g}" if finding.p >= ALPHA else f"p < {max(finding.p, 1e-12) * 1.01:.1g}"
    return Evidence(name=name, value=finding.value, says=f"{meaning}; {chance}")
