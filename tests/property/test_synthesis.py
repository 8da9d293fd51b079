"""Each knob on its own: what it does not concern stays as it was, draw by draw."""

from itertools import pairwise

import numpy as np
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from workloads.model import (
    ArrivalModel,
    ClientArrivals,
    ComposedArrivals,
    Dependence,
    FamilyLengths,
    GridArrivals,
    Harmonic,
    HarmonicArrivals,
    MmppArrivals,
    PiecewiseArrivals,
    PoissonArrivals,
    QuantileLengths,
    RenewalArrivals,
    SharedPrompts,
    TrafficModel,
)
from workloads.synthesis.curves import SynthesisError
from workloads.synthesis.knobs import Burst, Knobs, Mix, RateMethod
from workloads.synthesis.make import make_part
from workloads.synthesis.parts import Part

SECONDS = 20.0
ARRIVALS: st.SearchStrategy[ArrivalModel] = st.one_of(
    st.just(PoissonArrivals()),
    st.builds(RenewalArrivals, family=st.sampled_from(["gamma", "weibull"]), cv=st.floats(0.3, 4)),
    st.builds(
        PiecewiseArrivals,
        bin_s=st.floats(0.1, 30),
        weights=st.lists(st.floats(0.1, 9), min_size=1, max_size=20).map(tuple),
        cv=st.floats(0.5, 2),
    ),
    st.builds(
        HarmonicArrivals,
        waves=st.lists(
            st.builds(Harmonic, period_s=st.floats(1, 100), amplitude=st.floats(0, 1), crest_s=st.floats(0, 50)),
            min_size=1,
            max_size=3,
        ).map(tuple),
    ),
    st.builds(
        MmppArrivals,
        rates=st.tuples(st.floats(0.5, 2), st.floats(0, 2), st.floats(0, 9)),
        mean_stay_s=st.tuples(st.floats(0.5, 9), st.floats(0.5, 9), st.floats(0.5, 9)),
    ),
    st.builds(GridArrivals, step_s=st.floats(0.5, 5), weights=st.lists(st.floats(0.1, 9), min_size=1).map(tuple)),
    st.builds(
        ComposedArrivals,
        clients=st.lists(
            st.builds(ClientArrivals, share=st.floats(0.05, 1), cv=st.floats(0.5, 3)), min_size=2, max_size=4
        ).map(tuple),
    ),
)
MODELS = st.builds(
    TrafficModel,
    arrivals=ARRIVALS,
    input_tokens=st.just(QuantileLengths(probabilities=(0, 0.5, 1), tokens=(3, 900, 4000))),
    output_tokens=st.just(FamilyLengths(family="lognormal", parameters={"mu": 4, "sigma": 1}, max=2000)),
    dependence=st.builds(Dependence, rank_correlation=st.floats(-1, 1)),
    prefix=st.none() | st.just(SharedPrompts(tokens=32, num_prefixes=3, share_ratio=0.5)),
    rate_rps=st.none() | st.floats(1, 100),
)
SEEDS = st.integers(0, 2**63)
METHODS = st.sampled_from(["compress", "thin"])


def make(model: TrafficModel, seed: int, *, rate: float = 15, method: RateMethod = "compress", **knobs: object) -> Part:
    return make_part(
        model,
        Knobs(**knobs),  # type: ignore[arg-type]
        rate_rps=rate,
        duration_s=SECONDS,
        seed=seed,
        rate_method=method,
    )[0]


def blocks_of(part: Part, count: int) -> list[list[int]]:
    blocks = part.requests.blocks
    return [] if blocks is None else [blocks.of(index).tolist() for index in range(count)]


def assert_same_requests(one: Part, other: Part) -> None:
    count = min(len(one.requests), len(other.requests))
    assert one.requests.input_tokens[:count].tolist() == other.requests.input_tokens[:count].tolist()
    assert one.requests.output_tokens[:count].tolist() == other.requests.output_tokens[:count].tolist()
    assert blocks_of(one, count) == blocks_of(other, count)


@given(model=MODELS, seed=SEEDS, method=METHODS)
@settings(max_examples=60, deadline=None)
def test_arrivals_ascend_within_the_load_and_are_drawn_alike_again(
    model: TrafficModel, seed: int, method: RateMethod
) -> None:
    part = make(model, seed, method=method)
    assert np.all(np.diff(part.arrival_ns) >= 0)
    assert part.arrival_ns.min(initial=0) >= 0
    assert part.arrival_ns.max(initial=0) < SECONDS * 1e9
    assert part.requests.input_tokens.min(initial=1) >= 1
    assert make(model, seed, method=method).arrival_ns.tolist() == part.arrival_ns.tolist()


@given(
    model=MODELS,
    seed=SEEDS,
    rates=st.lists(st.floats(1, 60), min_size=2, max_size=3),
    method=METHODS,
)
@settings(max_examples=40, deadline=None)
def test_a_rate_changes_times_alone(model: TrafficModel, seed: int, rates: list[float], method: RateMethod) -> None:
    parts = [make(model, seed, rate=rate, method=method) for rate in sorted(rates)]
    for low, high in pairwise(parts):
        assert_same_requests(low, high)


@given(
    model=MODELS,
    seed=SEEDS,
    knob=st.one_of(
        st.floats(0.2, 5).map(lambda value: {"time_compression": value}),
        st.floats(0.1, 1).map(lambda value: {"keep_ratio": value}),
        st.floats(0.5, 2).map(lambda value: {"burstiness": value}),
    ),
)
@settings(max_examples=60, deadline=None)
def test_knobs_on_times_leave_requests_as_they_were(model: TrafficModel, seed: int, knob: dict[str, float]) -> None:
    try:
        changed = make(model, seed, **knob)
    except SynthesisError as refusal:  # a curve whose swing is widened may be 0 all through a short load
        if "rate is 0" not in str(refusal):
            raise
        reject()
    assert_same_requests(make(model, seed), changed)


@given(model=MODELS, seed=SEEDS, scale=st.floats(0.2, 4), shift=st.integers(-100, 3000))
@settings(max_examples=40, deadline=None)
def test_knobs_on_prompts_leave_times_and_answers_as_they_were(
    model: TrafficModel, seed: int, scale: float, shift: int
) -> None:
    plain, other = make(model, seed), make(model, seed, input_scale=scale, input_shift_tokens=shift)
    assert other.arrival_ns.tolist() == plain.arrival_ns.tolist()
    assert other.requests.output_tokens.tolist() == plain.requests.output_tokens.tolist()
    expected = np.maximum(np.rint(plain.requests.input_tokens * scale + shift), 1)
    assert other.requests.input_tokens.tolist() == expected.tolist()


@given(model=MODELS, seed=SEEDS, scale=st.floats(0.2, 4))
@settings(max_examples=40, deadline=None)
def test_a_scale_on_answers_leaves_times_and_prompts_as_they_were(model: TrafficModel, seed: int, scale: float) -> None:
    plain, other = make(model, seed), make(model, seed, output_scale=scale)
    assert other.arrival_ns.tolist() == plain.arrival_ns.tolist()
    assert other.requests.input_tokens.tolist() == plain.requests.input_tokens.tolist()
    assert blocks_of(other, len(other.requests)) == blocks_of(plain, len(plain.requests))


@given(model=MODELS, seed=SEEDS, factor=st.floats(0, 1))
@settings(max_examples=40, deadline=None)
def test_less_prefix_sharing_takes_prefixes_away_and_changes_nothing_else(
    model: TrafficModel, seed: int, factor: float
) -> None:
    plain, other = make(model, seed), make(model, seed, prefix_share=factor)
    assert other.arrival_ns.tolist() == plain.arrival_ns.tolist()
    assert other.requests.input_tokens.tolist() == plain.requests.input_tokens.tolist()
    assert other.requests.output_tokens.tolist() == plain.requests.output_tokens.tolist()
    count = len(plain.requests)
    pairs = zip(blocks_of(plain, count), blocks_of(other, count), strict=True)
    assert all(after in ([], before) for before, after in pairs)


@given(model=MODELS, seed=SEEDS, at_s=st.floats(0, 15), height=st.floats(1.5, 5))
@settings(max_examples=40, deadline=None)
def test_a_burst_leaves_every_other_request_as_it_was(
    model: TrafficModel, seed: int, at_s: float, height: float
) -> None:
    plain, burst = make(model, seed), make(model, seed, burst=Burst(at_s=at_s, width_s=3, height=height))
    rows = set(zip(plain.arrival_ns.tolist(), plain.requests.input_tokens.tolist(), strict=True))
    seen = list(zip(burst.arrival_ns.tolist(), burst.requests.input_tokens.tolist(), strict=True))
    assert rows <= set(seen)
    further = [time for time, tokens in seen if (time, tokens) not in rows]
    assert all(at_s * 1e9 - 1 <= time <= (at_s + 3) * 1e9 for time in further)


@given(model=MODELS, other=MODELS, seed=SEEDS, share=st.floats(0.05, 0.9))
@settings(max_examples=40, deadline=None)
def test_a_mix_leaves_the_requests_of_the_first_in_their_order(
    model: TrafficModel, other: TrafficModel, seed: int, share: float
) -> None:
    far = other.model_copy(
        update={"prefix": None, "input_tokens": QuantileLengths(probabilities=(0, 1), tokens=(50_000, 60_000))}
    )
    mixed = make(model, seed, mix=Mix(traffic=far, share=share))
    mine = np.flatnonzero(mixed.requests.input_tokens < 50_000)
    plain = make(model, seed)
    count = min(len(mine), len(plain.requests))
    assert mixed.requests.input_tokens[mine][:count].tolist() == plain.requests.input_tokens[:count].tolist()
    assert mixed.requests.output_tokens[mine][:count].tolist() == plain.requests.output_tokens[:count].tolist()


@given(model=MODELS, seed=SEEDS, data=st.data())
@settings(max_examples=40, deadline=None)
def test_a_subset_of_clients_arrives_as_it_did_in_the_whole(
    model: TrafficModel, seed: int, data: st.DataObject
) -> None:
    shares = data.draw(st.lists(st.sampled_from([1, 2, 3, 5]), min_size=2, max_size=5))
    total = sum(shares)
    clients = tuple(ClientArrivals(share=share / total, cv=1.5) for share in shares)
    composed = model.model_copy(update={"arrivals": ComposedArrivals(clients=clients)})
    kept = data.draw(st.sets(st.integers(0, len(shares) - 1), min_size=1))
    part = sum(shares[one] for one in kept) / total
    whole = make(composed, seed, rate=30)
    some = make(composed, seed, rate=30 * part, clients=tuple(kept))
    assert_same_requests(whole, some)
    near = np.searchsorted(whole.arrival_ns, some.arrival_ns - 2000)
    assert np.all(whole.arrival_ns[np.minimum(near, len(whole.arrival_ns) - 1)] - some.arrival_ns <= 2000)
