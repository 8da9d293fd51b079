"""One part of traffic: arrivals and requests of one model under its knobs."""

import numpy as np
from numpy.typing import NDArray

from workloads.model import PoissonArrivals, PrefixTree, QuantileLengths, SharedPrompts, TrafficModel
from workloads.requests import Requests
from workloads.streams import derive_seed, uniforms
from workloads.synthesis.arrivals import NS_PER_S, draw_arrivals, draw_clients
from workloads.synthesis.burstiness import scale_burstiness
from workloads.synthesis.curves import Clock, SynthesisError
from workloads.synthesis.knobs import Burst, Knobs
from workloads.synthesis.lengths import draw_lengths
from workloads.synthesis.parts import Part
from workloads.synthesis.prefixes import draw_prefixes
from workloads.synthesis.sessions import draw_sessions, lead_s, mean_turns
from workloads.synthesis.shared_prompts import draw_shared
from workloads.synthesis.twists import twist_lengths

ONE_TURN = QuantileLengths(probabilities=(0.0, 1.0), tokens=(1.0, 1.0))


def draw_part(model: TrafficModel, knobs: Knobs, clock: Clock, *, rate_rps: float, seed: int, scope: str = "") -> Part:
    """Draw requests and their arrivals in [0, duration) of the clock; `knobs` but for mix and burst.

    Sessions begin so long before the load that those of long ago still have turns in it.

    Raises:
        SynthesisError: knobs and model are at odds.
    """
    sessions = model.sessions
    if sessions is None:
        arrival_ns = _arrivals(model, knobs, clock, rate_rps=rate_rps, seed=seed, scope=scope)
        requests = draw_single_requests(model, knobs, len(arrival_ns), seed=seed, scope=scope)
        num_common_ids = model.prefix.num_prefixes if isinstance(model.prefix, SharedPrompts) else 0
        return Part(arrival_ns, requests, num_common_ids)
    early = clock._replace(lead_s=lead_s(sessions))
    rate = rate_rps / mean_turns(sessions)
    start_ns = _arrivals(model, knobs, early, rate_rps=rate, seed=seed, scope=scope)
    end_ns = round(clock.duration_s * NS_PER_S)
    share = knobs.prefix_share
    part = draw_sessions(model, sessions, start_ns, end_ns=end_ns, seed=seed, share_factor=share, scope=scope)
    return Part(part.arrival_ns, twist_lengths(part.requests, knobs), part.num_common_ids)


def draw_burst(
    model: TrafficModel, knobs: Knobs, burst: Burst, *, rate_rps: float, duration_s: float, seed: int
) -> Part:
    """Draw further requests of the same kind, Poisson while the burst lasts; in traffic of sessions, first turns.

    Raises:
        SynthesisError: the burst begins after the load's end.
    """
    width_s = min(burst.width_s, duration_s - burst.at_s)
    if width_s <= 0:
        raise SynthesisError(f"the burst begins at {burst.at_s:g} s, the load ends at {duration_s:g} s; begin earlier")
    update: dict[str, object] = {"arrivals": PoissonArrivals()}
    if model.sessions is not None:
        update["sessions"] = model.sessions.model_copy(update={"turns": ONE_TURN})
    crowd = model.model_copy(update=update)
    further_rps = rate_rps * (burst.height - 1)
    part = draw_part(crowd, knobs.without_timing(), Clock(width_s), rate_rps=further_rps, seed=seed, scope="burst")
    return Part(part.arrival_ns + round(burst.at_s * NS_PER_S), part.requests, part.num_common_ids)


def draw_single_requests(model: TrafficModel, knobs: Knobs, count: int, *, seed: int, scope: str = "") -> Requests:
    """Draw requests that are no turns of sessions. Prefixes are drawn for the lengths as they were before the knobs.

    Raises:
        SynthesisError: more sharing is asked for than a measured prefix tree can give.
    """
    inputs, outputs = draw_lengths(model, count, seed=seed, scope=scope)
    share = knobs.prefix_share
    match model.prefix:
        case None:
            requests = Requests(inputs, outputs)
        case SharedPrompts() as prompts:
            blocks = draw_shared(prompts, inputs, seed=seed, share_factor=share, scope=scope)
            requests = Requests(inputs, outputs, blocks, prompts.tokens)
        case PrefixTree() if share > 1:
            raise SynthesisError(f"expected a prefix share of at most 1 for a measured prefix tree, seen {share:g}")
        case PrefixTree() as tree:
            blocks = draw_prefixes(tree, inputs, seed=derive_seed(seed, scope), share_factor=share)
            requests = Requests(inputs, outputs, blocks, tree.block_tokens)
    return twist_lengths(requests, knobs)


def draw_ordered_requests(model: TrafficModel, knobs: Knobs, count: int, *, seed: int, scope: str = "") -> Requests:
    """Draw requests in order for a closed loop; turns of sessions come in the order that they have in an open one."""
    if model.sessions is None:
        return draw_single_requests(model, knobs, count, seed=seed, scope=scope)
    rate_rps, duration_s = model.rate_rps or 1.0, 0.0
    while True:
        duration_s = 2 * duration_s + count / rate_rps
        clock = Clock(duration_s)
        part = draw_part(model, knobs.without_timing(), clock, rate_rps=rate_rps, seed=seed, scope=scope)
        if len(part.requests) >= count:
            return part.requests.select(np.arange(count))


def _arrivals(
    model: TrafficModel, knobs: Knobs, clock: Clock, *, rate_rps: float, seed: int, scope: str
) -> NDArray[np.int64]:
    arrivals = scale_burstiness(model.arrivals, knobs.burstiness)
    fuller_rps = rate_rps / knobs.keep_ratio
    if knobs.clients is None:
        times = draw_arrivals(arrivals, clock, rate_rps=fuller_rps, seed=seed, scope=scope)
    else:
        times = draw_clients(arrivals, knobs.clients, clock, rate_rps=fuller_rps, seed=seed, scope=scope)
    if knobs.keep_ratio == 1.0:
        return times
    return times[uniforms(seed, "thinning", len(times), scope=scope) < knobs.keep_ratio]
