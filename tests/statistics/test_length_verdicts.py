"""The power-law verdict is right, or says that it cannot tell, for at least 95 % of 200 seeds of each law."""

import numpy as np
import pytest

from workloads.model import FamilyName
from workloads.model.families import quantile
from workloads.profile.lengths.counts import count_lengths
from workloads.profile.lengths.tails import describe_tail

SEEDS = range(200)
POWER_LAWS: list[tuple[FamilyName, dict[str, float], int]] = [
    ("pareto", {"alpha": 1.0, "x_min": 19.5}, 1000),
    ("pareto", {"alpha": 1.5, "x_min": 99.5}, 20_000),
    ("zipf", {"exponent": 2.2, "x_min": 1.0}, 5000),
]
LOGNORMALS: list[tuple[FamilyName, dict[str, float], int]] = [
    ("lognormal", {"mu": 4.0, "sigma": 2.0}, 1000),
    ("lognormal", {"mu": 6.5, "sigma": 1.0}, 20_000),
    ("lognormal", {"mu": 2.0, "sigma": 1.5}, 5000),
]


def answers(family: FamilyName, parameters: dict[str, float], size: int) -> dict[str, float]:
    found = []
    for seed in SEEDS:
        drawn = quantile(family, parameters, np.random.default_rng(seed).random(size))
        tokens = np.clip(np.rint(drawn), 1, 2**30).astype(np.int32)
        found.append(describe_tail(count_lengths(tokens), None, generator=np.random.default_rng(seed)).is_power_law)
    return {answer: found.count(answer) / len(found) for answer in ("yes", "no", "cannot tell")}


@pytest.mark.parametrize(("family", "parameters", "size"), POWER_LAWS)
def test_a_power_law_is_not_denied(family: FamilyName, parameters: dict[str, float], size: int) -> None:
    shares = answers(family, parameters, size)
    assert shares["no"] <= 0.05, shares


@pytest.mark.parametrize(("family", "parameters", "size"), LOGNORMALS)
def test_a_lognormal_is_not_called_a_power_law(family: FamilyName, parameters: dict[str, float], size: int) -> None:
    shares = answers(family, parameters, size)
    assert shares["yes"] <= 0.05, shares
