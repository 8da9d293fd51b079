"""One trial's throughput-latency curve, the score that a search maximises, and the ranking of trials.

A measurement whose verdict is invalid never counts.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from orchestrator.domain.errors import MeasurementRefusedError
from orchestrator.domain.fidelity import Verdict
from orchestrator.domain.measurement import Measurement
from orchestrator.domain.outcome import Completed, TrialOutcome
from orchestrator.domain.slo import Slo

Objective = Literal["goodput_rps", "output_tokens_per_s", "requests_per_s"]


@dataclass(frozen=True, slots=True)
class Curve:
    """The valid measurements of one trial, by rising load."""

    measurements: tuple[Measurement, ...]

    @classmethod
    def of(cls, measurements: Iterable[Measurement]) -> "Curve":
        """Sort measurements by load and leave out the invalid ones."""
        valid = (one for one in measurements if one.fidelity.verdict is not Verdict.INVALID)
        return cls(tuple(sorted(valid, key=lambda one: one.step)))

    def capacity(self, slo: Slo) -> Measurement | None:
        """Return the measurement at the largest load up to which every load met the SLO; None where the first missed.

        A point among those measured, without an interval: it says what was seen to hold, not where it breaks.
        """
        best = None
        for one in self.measurements:
            if not attains(one, slo):
                break
            best = one
        return best


class Ranked(NamedTuple):
    """A trial's number and its score."""

    number: int
    score: float


def attains(measurement: Measurement, slo: Slo) -> bool:
    """Say whether the share of requests that the SLO asks for met it; false where none was issued.

    False also where the load was given up: it outgrew its server, whatever its first requests met.
    """
    steadiness = measurement.steadiness
    if steadiness is not None and steadiness.given_up is not None:
        return False
    return measurement.slo_attainment is not None and measurement.slo_attainment >= slo.attainment


def score(measurements: Sequence[Measurement], objective: Objective, *, slo: Slo | None = None) -> float:
    """Score a trial by its best load, in the objective's unit; higher is better.

    Goodput counts at loads where the SLO was attained. A trial that attains it nowhere scores its goodput at the
    lowest load. Its best goodput would not do: a configuration that drowns at a high load still meets the SLO for some
    requests, and would outrank one that is better at every load but keeps its promise only at the low ones.

    Raises:
        MeasurementRefusedError: no valid measurement is there to score.
        ValueError: goodput is asked for without an SLO.
    """
    curve = Curve.of(measurements)
    if not curve.measurements:
        raise MeasurementRefusedError(
            f"none of {len(measurements)} measurements is valid, so there is nothing to score; "
            "see fidelity.reasons and relieve the client or lengthen the window"
        )
    if objective != "goodput_rps":
        return max(float(getattr(one, objective)) for one in curve.measurements)
    if slo is None:
        raise ValueError("goodput_rps needs an SLO")
    attained = [_goodput_rps(one) for one in curve.measurements if attains(one, slo)]
    return max(attained) if attained else _goodput_rps(curve.measurements[0])


def rank(outcomes: Mapping[int, TrialOutcome]) -> tuple[Ranked, ...]:
    """Rank the completed trials, best first, by trial number; equal scores go to the earlier trial.

    Pruned, infeasible and failed trials have no rank. The order is that of single noisy measurements.
    """
    completed = [Ranked(number, one.score) for number, one in outcomes.items() if isinstance(one, Completed)]
    return tuple(sorted(completed, key=lambda one: (-one.score, one.number)))


def _goodput_rps(measurement: Measurement) -> float:
    if measurement.goodput_rps is None:
        raise ValueError(f"measurement {measurement.digest} was summarised without an SLO and has no goodput")
    return measurement.goodput_rps
