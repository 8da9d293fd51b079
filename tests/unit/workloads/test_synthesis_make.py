import numpy as np
import pytest

from workloads.model import (
    Dependence,
    FamilyLengths,
    MmppArrivals,
    PoissonArrivals,
    PrefixTree,
    QuantileLengths,
    RenewalArrivals,
    SharedPrompts,
    TrafficModel,
)
from workloads.schedule import build_closed_schedule, build_open_schedule
from workloads.synthesis.curves import SynthesisError
from workloads.synthesis.knobs import Burst, Knobs, Mix
from workloads.synthesis.made_trace import make_trace
from workloads.synthesis.make import make_part, make_requests
from workloads.synthesis.parts import Part
from workloads.workload import ProfileSource, PublishedSource, Workload

S = 10**9
CHAT = TrafficModel(
    arrivals=RenewalArrivals(cv=2),
    input_tokens=QuantileLengths(probabilities=(0, 0.5, 1), tokens=(10, 600, 3000)),
    output_tokens=FamilyLengths(family="lognormal", parameters={"mu": 4, "sigma": 1}, min=0, max=900),
    dependence=Dependence(rank_correlation=0.3),
    prefix=SharedPrompts(tokens=128, num_prefixes=3, share_ratio=0.4),
    rate_rps=5,
)
OTHER = CHAT.model_copy(
    update={"input_tokens": QuantileLengths(probabilities=(0, 1), tokens=(9000, 9999)), "prefix": None}
)
TREE = PrefixTree(block_tokens=128, weights=(1, 1), distances=(0, 3), shared_blocks=(0, 2), input_blocks=(5, 5))


def make(model: TrafficModel = CHAT, *, rate: float = 20, duration_s: float = 100, **knobs: object) -> Part:
    return make_part(
        model,
        Knobs(**knobs),
        rate_rps=rate,
        duration_s=duration_s,
        seed=9,
        rate_method="compress",  # type: ignore[arg-type]
    )[0]


def test_compress_shortens_bursts_and_thin_keeps_their_length() -> None:
    model = CHAT.model_copy(update={"arrivals": MmppArrivals(rates=(1, 0), mean_stay_s=(4, 16)), "rate_rps": 10.0})
    fanos = {}
    for method in ("compress", "thin"):
        part, facts = make_part(model, Knobs(), rate_rps=40, duration_s=3000, seed=2, rate_method=method)
        counts = np.bincount(part.arrival_ns // S)
        fanos[method] = counts.var() / counts.mean()
        assert facts["method"] == method
        assert facts["time_factor"] == (4.0 if method == "compress" else 1.0)
    assert fanos["thin"] > 1.2 * fanos["compress"]


def test_a_rate_of_its_own_is_not_needed() -> None:
    model = CHAT.model_copy(update={"rate_rps": None})
    _, facts = make_part(model, Knobs(), rate_rps=40, duration_s=5, seed=2, rate_method="compress")
    assert facts["time_factor"] == 1.0
    assert facts["own_rps"] is None


def test_thinning_keeps_the_rate_and_pulls_towards_poisson() -> None:
    gaps = [np.diff(make(duration_s=1000, keep_ratio=ratio).arrival_ns) for ratio in (1.0, 0.2)]
    assert len(gaps[1]) == pytest.approx(len(gaps[0]), rel=0.1)
    cv = [one.std() / one.mean() for one in gaps]
    assert cv[0] == pytest.approx(2, rel=0.1)
    assert cv[1] == pytest.approx(np.sqrt(1 + 0.2 * 3), rel=0.1)


def test_burstiness_is_a_factor_on_the_cv() -> None:
    gaps = np.diff(make(duration_s=1000, burstiness=0.5).arrival_ns)
    assert gaps.std() / gaps.mean() == pytest.approx(1, rel=0.06)


def test_prompts_are_scaled_then_shifted_and_keep_their_prefixes() -> None:
    plain, longer = make(), make(input_scale=2, input_shift_tokens=50)
    assert longer.requests.input_tokens.tolist() == (2 * plain.requests.input_tokens + 50).tolist()
    assert longer.requests.block_tokens == 256
    assert plain.requests.blocks is not None
    assert longer.requests.blocks is not None
    assert longer.requests.blocks.values.tolist() == plain.requests.blocks.values.tolist()
    shorter = make(input_shift_tokens=-5000).requests
    assert set(shorter.input_tokens.tolist()) == {1}


def test_answers_are_scaled_and_an_empty_one_stays_empty() -> None:
    empty = CHAT.model_copy(update={"output_tokens": QuantileLengths(probabilities=(0, 1), tokens=(0, 0))})
    assert set(make(empty, output_scale=3).requests.output_tokens.tolist()) == {0}
    assert make(output_scale=3).requests.output_tokens.tolist() == (3 * make().requests.output_tokens).tolist()
    schedule = build_open_schedule(Workload(source=ProfileSource(traffic=empty)), rate_rps=5, duration_s=5)
    assert set(schedule.output_tokens.tolist()) == {1}


def test_prefix_share_is_a_factor() -> None:
    shares = []
    for factor in (0, 1, 2):
        blocks = make(duration_s=500, prefix_share=factor).requests.blocks
        assert blocks is not None
        shares.append(blocks.counts.mean())
    assert shares[0] == 0
    assert shares[2] == pytest.approx(2 * shares[1], rel=0.06)


def test_a_mix_has_its_shares_and_leaves_the_first_alone() -> None:
    mixed = make(duration_s=500, mix=Mix(traffic=OTHER, share=0.25))
    is_other = mixed.requests.input_tokens >= 9000
    assert is_other.mean() == pytest.approx(0.25, abs=0.03)
    alone = make(duration_s=500, rate=15)
    mine = mixed.requests.select(np.flatnonzero(~is_other))
    count = min(len(mine), len(alone.requests))
    assert mine.input_tokens[:count].tolist() == alone.requests.input_tokens[:count].tolist()
    assert mixed.requests.blocks is not None
    assert np.all(mixed.requests.blocks.counts[is_other] == 0)


def test_two_prefixes_of_one_block_size_stay_apart_and_of_two_are_refused() -> None:
    same = make(mix=Mix(traffic=CHAT, share=0.5)).requests.blocks
    assert same is not None
    assert set(same.values.tolist()) == {0, 1, 2, 3, 4, 5}
    wider = CHAT.model_copy(update={"prefix": SharedPrompts(tokens=64, num_prefixes=1, share_ratio=1)})
    with pytest.raises(SynthesisError, match="64 and 128"):
        make(mix=Mix(traffic=wider, share=0.5))


def test_a_burst_adds_requests_for_a_while_and_leaves_the_others_as_they_were() -> None:
    plain, burst = make(), make(burst=Burst(at_s=30, width_s=20, height=3))
    kept = np.isin(burst.arrival_ns, plain.arrival_ns)
    assert burst.arrival_ns[kept].tolist() == plain.arrival_ns.tolist()
    assert burst.requests.input_tokens[kept].tolist() == plain.requests.input_tokens.tolist()
    assert burst.requests.input_tokens[~kept][:20].tolist() != plain.requests.input_tokens[:20].tolist()
    added = burst.arrival_ns[~kept]
    assert len(added) == pytest.approx(2 * 20 * 20, rel=0.12)
    assert 30 * S <= added[0] <= added[-1] < 50 * S
    assert burst.requests.blocks is not None
    assert set(burst.requests.blocks.values.tolist()) == {0, 1, 2}
    with pytest.raises(SynthesisError, match="begins at 300 s, the load ends at 100 s"):
        make(burst=Burst(at_s=300, width_s=20, height=3))


def test_a_prefix_tree_shares_blocks_and_no_more_than_it_has() -> None:
    model = CHAT.model_copy(update={"prefix": TREE})
    requests = make(model).requests
    assert requests.blocks is not None
    assert requests.blocks.counts.tolist() == (-(-requests.input_tokens // 128)).tolist()
    assert len(np.unique(requests.blocks.values)) < len(requests.blocks.values)
    with pytest.raises(SynthesisError, match="at most 1"):
        make(model, prefix_share=1.5)


def test_a_synthetic_trace_begins_at_its_first_arrival_and_has_the_models_columns() -> None:
    trace = make_trace(CHAT, Knobs(), rate_rps=5, duration_s=100, seed=1)
    assert trace.arrival_ns[0] == 0
    assert trace.facts.format == "synthetic"
    assert (trace.facts.resolution_ns, trace.facts.grid_ns, trace.facts.block_tokens) == (1, 1, 128)
    assert trace.block_ids is not None
    assert trace.num_failed == 0
    assert len(trace) == pytest.approx(500, rel=0.3)
    assert trace.digest == make_trace(CHAT, Knobs(), rate_rps=5, duration_s=100, seed=1).digest
    with pytest.raises(SynthesisError, match="sends nothing"):
        make_trace(CHAT, Knobs(), rate_rps=0.001, duration_s=1, seed=1)


def test_a_closed_loop_says_which_knobs_do_nothing_there() -> None:
    knobs = Knobs(burstiness=2, input_scale=0.5)
    requests, facts = make_requests(CHAT, knobs, count=30, seed=9)
    assert facts == {"knobs_without_effect": ["burstiness"]}
    assert requests.input_tokens.tolist() == make(input_scale=0.5).requests.input_tokens[:30].tolist()
    mixed, facts = make_requests(CHAT, Knobs(mix=Mix(traffic=OTHER, share=0.5)), count=400, seed=9)
    assert np.mean(mixed.input_tokens >= 9000) == pytest.approx(0.5, abs=0.1)
    assert facts == {"second": {"digest": OTHER.digest}}


def test_seed_knobs_and_digest_are_in_the_facts() -> None:
    source = ProfileSource(traffic=CHAT, knobs=Knobs(input_scale=0.5, mix=Mix(traffic=OTHER, share=0.5)))
    facts = build_open_schedule(Workload(source=source, seed=3), rate_rps=5, duration_s=50).facts
    assert facts["source"] == {"kind": "profile", "name": None, "digest": CHAT.digest}
    assert facts["knobs"] == {"input_scale": 0.5, "mix": {"traffic": OTHER.digest, "share": 0.5}}
    assert facts["seed"] == 3
    published = Workload(source=PublishedSource(name="chat", knobs=Knobs(output_scale=2)))
    assert build_closed_schedule(published, num_requests=3).facts["knobs"] == {"output_scale": 2.0}
    assert "knobs" not in build_closed_schedule(Workload(), num_requests=3).facts


def test_a_profile_source_has_one_model() -> None:
    with pytest.raises(ValueError, match="one of path"):
        ProfileSource()
    with pytest.raises(ValueError, match="one of path"):
        Mix(share=0.5)
    assert CHAT.arrivals != PoissonArrivals()


def test_made_traces_have_block_ids_for_whole_prompts_and_share_only_the_shared_ones() -> None:
    prefix = SharedPrompts(tokens=128, num_prefixes=1, share_ratio=1.0)
    lengths = QuantileLengths(probabilities=(0.0, 1.0), tokens=(300.0, 300.0))
    model = TrafficModel(arrivals=PoissonArrivals(), input_tokens=lengths, output_tokens=lengths, prefix=prefix)
    blocks = make_trace(model, Knobs(), rate_rps=5, duration_s=20, seed=1).block_ids
    assert blocks is not None
    assert set(blocks.counts.tolist()) == {3}
    assert len({blocks.of(index)[0] for index in range(len(blocks))}) == 1
    own = np.concatenate([blocks.of(index)[1:] for index in range(len(blocks))])
    assert len(set(own.tolist())) == own.size
