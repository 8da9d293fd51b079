"""How many leading tokens should hit: arithmetic on schedules made by hand, and prompts that begin as it says."""

import numpy as np
import pytest

from orchestrator.domain.cache import WarmCache
from orchestrator.domain.errors import MeasurementRefusedError
from orchestrator.domain.load import OpenLoad
from orchestrator.domain.study import StudySpec
from orchestrator.trials.cache_setting import WarmPrompts, grain_of, salt_for
from orchestrator.trials.warmth import shared_tokens, warm_tokens
from tests.study_builders import a_study
from workloads.blocks import make_blocks
from workloads.prompts import prompt_maker
from workloads.schedule import Schedule
from workloads.workload import Workload


def a_schedule(lengths: list[int], blocks: list[list[int]] | None = None, block_tokens: int = 32) -> Schedule:
    count = len(lengths)
    ids = None
    if blocks is not None:
        offsets = np.concatenate([[0], np.cumsum([len(one) for one in blocks])])
        ids = make_blocks(offsets, np.array([one for row in blocks for one in row], dtype=np.int64))
    return Schedule(
        intended_ns=np.arange(count, dtype=np.int64),
        input_tokens=np.array(lengths, dtype=np.int32),
        output_tokens=np.ones(count, dtype=np.int32),
        blocks=ids,
        block_tokens=None if blocks is None else block_tokens,
        duration_s=1.0,
        facts={},
    )


def test_sharing_counts_whole_blocks_that_an_earlier_request_had() -> None:
    schedule = a_schedule([70, 70, 64, 10], [[1, 2, 3], [1, 2, 4], [9, 2], [1]])
    assert shared_tokens(schedule, block_tokens=16).tolist() == [0, 64, 0, 0]
    assert shared_tokens(schedule, block_tokens=1).tolist() == [0, 64, 1, 10]


def test_without_blocks_only_the_salts_word_is_shared() -> None:
    schedule = a_schedule([70, 70, 70])
    assert shared_tokens(schedule, block_tokens=16).tolist() == [0, 0, 0]
    assert shared_tokens(schedule, block_tokens=1).tolist() == [0, 1, 1]


@pytest.mark.parametrize("block_tokens", [1, 16, 32])
@pytest.mark.parametrize("ratio", [0.1, 0.37, 0.5, 0.8])
def test_the_ratio_is_met_over_prompts_of_many_lengths(block_tokens: int, ratio: float) -> None:
    lengths = np.random.default_rng(3).integers(100, 600, size=200).tolist()
    schedule = a_schedule(lengths)
    shared = shared_tokens(schedule, block_tokens=block_tokens)
    warm = warm_tokens(schedule, shared, ratio, block_tokens=block_tokens)
    assert np.maximum(shared, warm).sum() / sum(lengths) == pytest.approx(ratio, abs=0.005)
    assert (warm % block_tokens == 0).all()
    assert (warm < np.array(lengths)).all()


def test_sharing_of_the_traffic_counts_towards_the_ratio() -> None:
    schedule = a_schedule([128] * 40, [[7, 8, index * 2 + 100, index * 2 + 101] for index in range(40)])
    shared = shared_tokens(schedule, block_tokens=16)
    warm = warm_tokens(schedule, shared, 0.6, block_tokens=16)
    assert set(warm.tolist()) == {80}  # one length, for two would part what requests share
    with pytest.raises(MeasurementRefusedError, match=r"48\.8% are shared among its own requests"):
        warm_tokens(schedule, shared, 0.4, block_tokens=16)


def test_a_ratio_that_short_prompts_cannot_reach_is_refused_with_the_most_they_can() -> None:
    schedule = a_schedule([20] * 5)
    with pytest.raises(MeasurementRefusedError, match=r"at most 80\.0% can be warm"):
        warm_tokens(schedule, shared_tokens(schedule, block_tokens=16), 0.9, block_tokens=16)


def test_warm_text_begins_alike_and_goes_on_as_its_own() -> None:
    workload = Workload()
    maker = prompt_maker(workload, tokenizer=None)
    schedule = a_schedule([200, 200, 100])
    prompts = WarmPrompts(maker, "s/warm", np.array([100, 100, 50]))
    one, two, three = (prompts.text(schedule, index, salt="s") for index in range(3))
    prefix = prompts.prefix_text(schedule)
    assert one[:400] == two[:400] == prefix[:400]
    assert three[:200] == prefix[:200]
    assert one[400:] != two[400:]
    assert one[402:] == maker.text(schedule, 0, salt="s")[402:]
    assert len(one) == len(maker.text(schedule, 0, salt="s"))


@pytest.mark.parametrize(
    ("cache", "is_own"),
    [("salted", True), ("cold", True), (WarmCache(warm=0.5), True), ("reset", False), ("natural", False)],
)
def test_prompts_have_a_salt_of_their_load_where_nothing_may_carry_over(cache: object, *, is_own: bool) -> None:
    study = a_study(cache=cache)
    assert (salt_for(study, OpenLoad(rate_rps=1)) != salt_for(study, OpenLoad(rate_rps=2))) is is_own


def test_the_grain_is_what_the_engine_says_else_what_it_was_told() -> None:
    config = type("Config", (), {"block_size": 32, "n_parallel": 4, "page_size": None})()
    assert grain_of("vllm", config, {"block_size": "128"}).block_tokens == 128
    assert grain_of("vllm", config, {}).block_tokens == 32
    assert (grain_of("llamacpp", config, {}).block_tokens, grain_of("llamacpp", config, {}).slots) == (1, 4)
    assert grain_of("sglang", config, {}).block_tokens == 1
    assert grain_of("unheard-of", object(), {}).block_tokens is None  # type: ignore[arg-type]


def test_old_spellings_keep_their_digest_and_new_ones_have_their_own() -> None:
    before = {one: a_study(cache=one).digest for one in ("salted", "reset", "natural")}
    assert a_study().digest == before["salted"]
    assert a_study().model_dump(mode="json")["cache"] == "salted"
    warm = a_study(cache={"warm": 0.5})
    assert StudySpec.model_validate(warm.model_dump(mode="json")) == warm
    assert len({*before.values(), warm.digest, a_study(cache="cold").digest}) == 5
    assert str(warm.cache) == "warm:0.5"
