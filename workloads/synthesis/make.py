"""From a traffic model, knobs and a seed to requests and their times."""

import numpy as np

from workloads.model import TrafficModel
from workloads.requests import Requests
from workloads.streams import uniforms
from workloads.synthesis.curves import Clock
from workloads.synthesis.knobs import Knobs, RateMethod
from workloads.synthesis.one_part import draw_burst, draw_ordered_requests, draw_part
from workloads.synthesis.parts import Part, merge_parts
from workloads.synthesis.profile_file import second_model

Facts = dict[str, object]
PLAIN = Knobs()
SECOND = "second"


def make_part(
    model: TrafficModel, knobs: Knobs, *, rate_rps: float, duration_s: float, seed: int, rate_method: RateMethod
) -> tuple[Part, Facts]:
    """Make requests and their arrivals in [0, duration), and say how: the facts of the schedule's `arrivals`.

    The rate is the load's, whatever the model's own was. `compress` runs the model's own time faster by the ratio of
    the two (bursts get shorter, the CV stays); `thin` keeps its time and scales its intensity, up or down. A mix's
    second model comes beside the first, unchanged by the knobs; a burst comes on top of the rate. Times to think of
    sessions stay as they are.

    Raises:
        SynthesisError: knobs and model are at odds.
        ProfileError: the file of the second profile of a mix cannot be used.
    """
    share = knobs.mix.share if knobs.mix is not None else 0.0
    clock = _clock(model, knobs, rate_rps=rate_rps, duration_s=duration_s, rate_method=rate_method)
    parts = [draw_part(model, knobs, clock, rate_rps=rate_rps * (1 - share), seed=seed)]
    facts: Facts = {"method": rate_method, **_arrival_facts(model, clock)}
    if knobs.mix is not None:
        other = second_model(knobs.mix)
        theirs = _clock(other, PLAIN, rate_rps=rate_rps, duration_s=duration_s, rate_method=rate_method)
        second = draw_part(other, PLAIN, theirs, rate_rps=rate_rps * share, seed=seed, scope=SECOND)
        parts.append(Part(second.arrival_ns, second.requests))
        facts["second"] = {"digest": other.digest, **_arrival_facts(other, theirs)}
    if knobs.burst is not None:
        burst = draw_burst(model, knobs, knobs.burst, rate_rps=rate_rps, duration_s=duration_s, seed=seed)
        parts.append(burst)
        facts["num_burst_requests"] = len(burst.requests)
    return merge_parts(parts), facts


def make_requests(model: TrafficModel, knobs: Knobs, *, count: int, seed: int) -> tuple[Requests, Facts]:
    """Make the first `count` requests of a closed loop, in order; name the knobs that act on times alone.

    Raises:
        ProfileError: the file of the second profile of a mix cannot be used.
    """
    facts: Facts = {"knobs_without_effect": list(knobs.timing)} if knobs.timing else {}
    if knobs.mix is None:
        return draw_ordered_requests(model, knobs, count, seed=seed), facts
    other = second_model(knobs.mix)
    is_second = uniforms(seed, "mix", count) < knobs.mix.share
    places, others = np.flatnonzero(~is_second), np.flatnonzero(is_second)
    parts = [
        Part(places, draw_ordered_requests(model, knobs, len(places), seed=seed)),
        Part(others, draw_ordered_requests(other, PLAIN, len(others), seed=seed, scope=SECOND)),
    ]
    return merge_parts(parts).requests, facts | {"second": {"digest": other.digest}}


def _clock(model: TrafficModel, knobs: Knobs, *, rate_rps: float, duration_s: float, rate_method: RateMethod) -> Clock:
    own_rps = model.rate_rps if rate_method == "compress" else None
    return Clock(duration_s, (rate_rps / own_rps if own_rps is not None else 1.0) * knobs.time_compression)


def _arrival_facts(model: TrafficModel, clock: Clock) -> Facts:
    return {"kind": model.arrivals.kind, "own_rps": model.rate_rps, "time_factor": clock.factor}
