"""The arrivals' part of a profile, put together: unevenness, verdict, change points, and the curve to draw from."""

import numpy as np
from numpy.typing import NDArray

from workloads.model import GridArrivals, PiecewiseArrivals
from workloads.profile.arrivals.change_points import find_change_points
from workloads.profile.arrivals.curve import MAX_CELLS, measure_batches
from workloads.profile.arrivals.model import ArrivalProfile, Evidence, Verdict
from workloads.profile.arrivals.unevenness import Unevenness, measure_unevenness
from workloads.profile.arrivals.verdict import Judgement, judge_arrivals
from workloads.trace import NS_PER_S, TraceFacts

MIN_WINDOWS = 20


def describe_arrivals(
    arrival_ns: NDArray[np.int64], facts: TraceFacts, *, seed: int
) -> tuple[ArrivalProfile, tuple[str, ...]]:
    """Describe arrivals, and say in words which figures are absent and why.

    Args:
        arrival_ns: nanoseconds from the first arrival, ascending, at least one.
        facts: the format's time step, and the grid on which arrivals really lie.
        seed: of the spread inside time steps; the same seed gives the same verdict.
    """
    figures = measure_unevenness(arrival_ns, facts)
    judgement = _judge(arrival_ns, facts, seed=seed)
    dispersion = _stays_dispersion(judgement, figures, int(arrival_ns[-1]) / NS_PER_S)
    profile = ArrivalProfile(
        **figures._asdict(),
        resolution_s=facts.resolution_ns / NS_PER_S,
        grid_s=facts.grid_ns / NS_PER_S,
        verdict=judgement.verdict,
        change_points=find_change_points(arrival_ns, step_ns=facts.grid_ns, dispersion=dispersion),
        curve=judgement.curve,
    )
    return profile, _notes(profile)


def _judge(arrival_ns: NDArray[np.int64], facts: TraceFacts, *, seed: int) -> Judgement:
    if facts.grid_ns == facts.resolution_ns:
        return judge_arrivals(arrival_ns, facts, seed=seed)
    batches = measure_batches(arrival_ns, facts.grid_ns)
    step_s, num_instants = facts.grid_ns / NS_PER_S, 1 + int(np.count_nonzero(np.diff(arrival_ns)))
    per_instant = Evidence(
        name="requests per instant", value=arrival_ns.size / num_instants, says="mean over the instants that are used"
    )
    sentence = f"Requests stand in batches {step_s:g} s apart; when they arrived inside a step was not recorded."
    verdict = Verdict(kind="grid", sentence=sentence, evidence=(per_instant,), model=batches)
    return Judgement(verdict, batches, 1.0)


def _stays_dispersion(judgement: Judgement, figures: Unevenness, span_s: float) -> float:
    """Stays of an on/off process are no change of its rate: count as noise what they add in long windows."""
    fano = [
        value
        for window_s, value in figures.fano.items()
        if value is not None and span_s >= MIN_WINDOWS * float(window_s)
    ]
    return max([judgement.dispersion, *fano]) if judgement.verdict.kind == "on/off" else judgement.dispersion


def _notes(profile: ArrivalProfile) -> tuple[str, ...]:
    step = f"arrivals lie on a step of {profile.grid_s:g} s"
    absent = [f"{window} s" for window, value in profile.fano.items() if value is None]
    notes = []
    if profile.cv is None:
        notes.append(f"no gap CV: {step}, or there are too few gaps")
    if absent:
        notes.append(f"no Fano factor for windows of {', '.join(absent)}: {step}, or the trace is too short")
    if profile.count_autocorrelation["1"] is None:
        notes.append(f"no count autocorrelation: {step}, or the trace is too short")
    if isinstance(profile.curve, PiecewiseArrivals) and profile.curve.bin_s > 1:
        notes.append(f"the rate curve has bins of {profile.curve.bin_s:.3g} s: what changes faster is not in it")
    if isinstance(profile.curve, GridArrivals) and len(profile.curve.weights) == MAX_CELLS:
        notes.append(f"the rate curve holds the first {MAX_CELLS} cells of the grid")
    return tuple(notes)
