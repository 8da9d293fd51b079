"""Traits of traffic that call for a technique: each rule names the figures that triggered it, or is silent.

Traffic alone tells neither that a model needs several devices nor that somebody has scheduling rules of their own.
"""

from collections.abc import Callable

from workloads.profile.model import TraceFigures, Trait

# Half of the prompts fill at most half of a prefill chunk of 2,048 tokens.
SHORT_INPUT_TOKENS = 1024
# Several in flight at the median: a batch to fill. One to three are served as well one by one.
MANY_IN_FLIGHT = 4.0
# Where service times are not known: taken that no engine gives one request more than 200 tokens a second, by Little's
# law rate x output tokens x this is the least that can be in flight.
LEAST_TOKEN_S = 0.005
# Half of the prompts need two or more prefill chunks of 2,048 tokens.
LONG_INPUT_TOKENS = 4096
# A tenth of the prefill can be saved; a choice, as are all thresholds here: break-even is measured on an engine.
SHARED_TOKENS = 0.1
# A deployment half busy on average is full at twice the mean.
PEAK_OVER_MEAN = 2.0
# Counts vary twice as much as chance alone makes them (a Poisson process has 1).
BURSTY_FANO = 2.0
BURST_WINDOWS_S = (60, 10)
# Fewer requests in the busiest window are no load, and its height is mostly chance.
MIN_PEAK_REQUESTS = 30
# One request in a hundred is ten times the middle one: space reserved for the longest stands nine tenths empty.
TAIL_OVER_MEDIAN = 10.0
# A quarter of the sessions come back with their context.
MULTI_TURN = 0.25
# Half of the requests from one in twenty clients; of fewer than twenty that says nothing.
DOMINANT_CLIENTS = 0.05
MIN_CLIENTS = 20
# A decode step gives one token a request, a prefill step hundreds: with as many tokens out as in, decode takes nearly
# all of the time. At twenty in for one out the two take time of one order, and prefills stand in the way of decodes.
DECODE_BOUND = 1.0
PREFILL_BOUND = 20.0


def read_traits(figures: TraceFigures) -> tuple[Trait, ...]:
    """Return the traits whose figures pass their thresholds, in a fixed order."""
    found = (rule(figures) for rule in RULES)
    return tuple(trait for trait in found if trait is not None)


def _short_and_many(figures: TraceFigures) -> Trait | None:
    lengths = figures.answered_input_tokens
    if lengths is None or lengths.p50 > SHORT_INPUT_TOKENS:
        return None
    in_flight = _in_flight(figures)
    if not in_flight or next(iter(in_flight.values())) < MANY_IN_FLIGHT:
        return None
    return Trait(
        name="short requests, many at once",
        figures={"input_tokens_p50": lengths.p50, **in_flight},
        look_at="continuous batching, paged KV cache, batch-token limits",
        engine_kind="dynamic batching",
    )


def _in_flight(figures: TraceFigures) -> dict[str, float]:
    """Return the median in flight, or the least that the rate implies; empty where neither is known."""
    if figures.concurrency is not None:
        return {"concurrency_p50": figures.concurrency.p50}
    if figures.rate_rps is None or figures.answered_output_tokens is None:
        return {}
    return {
        "least_in_flight": figures.rate_rps * figures.answered_output_tokens.mean * LEAST_TOKEN_S,
        "rate_rps": figures.rate_rps,
    }


def _long_and_shared(figures: TraceFigures) -> Trait | None:
    lengths, prefix = figures.answered_input_tokens, figures.prefix
    if lengths is None or prefix is None:
        return None
    if lengths.p50 < LONG_INPUT_TOKENS or prefix.token_reuse_ratio < SHARED_TOKENS:
        return None
    return Trait(
        name="long prompts with shared beginnings",
        figures={"input_tokens_p50": lengths.p50, "token_reuse_ratio": prefix.token_reuse_ratio},
        look_at="prefix reuse, KV cache capacity and eviction, chunked prefill",
        engine_kind="prefix cache with an index over blocks",
    )


def _bursty(figures: TraceFigures) -> Trait | None:
    for window_s in BURST_WINDOWS_S:
        peak, fano = (ratio.get(str(window_s)) for ratio in (figures.arrivals.peak_over_mean, figures.arrivals.fano))
        if peak is None or fano is None or figures.rate_rps is None:
            continue
        is_load = peak * figures.rate_rps * window_s >= MIN_PEAK_REQUESTS
        if is_load and peak >= PEAK_OVER_MEAN and fano >= BURSTY_FANO:
            return Trait(
                name="bursty arrivals with a high peak over the mean",
                figures={f"peak_over_mean_{window_s}_s": peak, f"fano_{window_s}_s": fano},
                look_at="caps on concurrency and queue, headroom, warm replicas",
                engine_kind="any with bounded queues",
            )
    return None


def _heavy_tailed(figures: TraceFigures) -> Trait | None:
    sides = {"input": figures.answered_input_tokens, "output": figures.answered_output_tokens}
    ratios = {
        f"{side}_tokens_p99_over_p50": lengths.p99 / lengths.p50
        for side, lengths in sides.items()
        if lengths is not None and lengths.p50 > 0
    }
    heavy = {name: ratio for name, ratio in ratios.items() if ratio >= TAIL_OVER_MEDIAN}
    if not heavy:
        return None
    return Trait(
        name="heavy-tailed lengths",
        figures=heavy,
        look_at="paged rather than preallocated KV cache, request classes, chunked prefill",
        engine_kind="dynamic batching",
    )


def _multi_turn(figures: TraceFigures) -> Trait | None:
    sessions = figures.sessions
    if sessions is None or sessions.multi_turn_ratio < MULTI_TURN:
        return None
    return Trait(
        name="conversations of several turns",
        figures={"multi_turn_ratio": sessions.multi_turn_ratio, "turns_mean": sessions.turns.mean},
        look_at="prefix reuse across turns, KV cache kept over think times, routing a session to its replica",
        engine_kind="prefix cache with an index over blocks",
    )


def _dominated(figures: TraceFigures) -> Trait | None:
    clients = figures.clients
    if clients is None or clients.num_clients < MIN_CLIENTS:
        return None
    if clients.num_for_half > DOMINANT_CLIENTS * clients.num_clients:
        return None
    return Trait(
        name="a few clients send most of it",
        figures={
            "num_clients": clients.num_clients,
            "num_for_half": clients.num_for_half,
            "top_1_share": clients.top_1_share,
        },
        look_at="fair scheduling between clients, quotas, admission control",
        engine_kind="programmable",
    )


def _balance(figures: TraceFigures) -> Trait | None:
    inputs, outputs = figures.answered_input_tokens, figures.answered_output_tokens
    if inputs is None or outputs is None or not inputs.mean or not outputs.mean:
        return None
    means = {"input_tokens_mean": inputs.mean, "output_tokens_mean": outputs.mean}
    if outputs.mean >= DECODE_BOUND * inputs.mean:
        return Trait(
            name="answers longer than prompts (decode-bound)",
            figures=means,
            look_at="larger decode batches, speculative decoding, KV cache precision",
            engine_kind="dynamic batching",
        )
    if inputs.mean >= PREFILL_BOUND * outputs.mean:
        return Trait(
            name="prompts far longer than answers (prefill-bound)",
            figures=means,
            look_at="chunked prefill, batch-token limits, prefill apart from decode",
            engine_kind="dynamic batching",
        )
    return None


def _on_off(figures: TraceFigures) -> Trait | None:
    verdict = figures.arrivals.verdict
    if verdict.kind != "on/off":
        return None
    return Trait(
        name="traffic that switches on and off",
        figures={one.name: one.value for one in verdict.evidence},
        look_at="warm replicas and a long idle timeout, queue caps for the first seconds of a burst",
        engine_kind="any with bounded queues",
    )


RULES: tuple[Callable[[TraceFigures], Trait | None], ...] = (
    _short_and_many,
    _long_and_shared,
    _bursty,
    _heavy_tailed,
    _multi_turn,
    _dominated,
    _balance,
    _on_off,
)
