import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workloads.cutting import Piece, cut_rank
from workloads.schedule import build_closed_schedule, build_open_schedule
from workloads.workload import FixedSource, LengthScale, PublishedSource, Workload

SECONDS = 30.0
WORKLOADS = st.builds(
    Workload,
    source=st.one_of(
        st.builds(FixedSource, input_tokens=st.integers(1, 5000), output_tokens=st.integers(1, 500)),
        st.builds(PublishedSource, name=st.sampled_from(["chat", "code", "rag", "reasoning", "bursty"])),
    ),
    lengths=st.builds(
        LengthScale,
        input_factor=st.floats(0.01, 2),
        output_factor=st.floats(0.01, 2),
        max_input_tokens=st.none() | st.integers(1, 4000),
    ),
    seed=st.integers(0, 2**63),
)
PROGRAM = """
import sys
from workloads.schedule import build_open_schedule
from workloads.workload import Workload
workload = Workload.model_validate_json(sys.argv[1])
print(build_open_schedule(workload, rate_rps=3.7, duration_s=25).digest)
"""


@given(workload=WORKLOADS, rate_rps=st.floats(0.5, 40))
@settings(max_examples=50, deadline=None)
def test_arrivals_ascend_within_the_duration_and_lengths_keep_their_limits(workload: Workload, rate_rps: float) -> None:
    schedule = build_open_schedule(workload, rate_rps=rate_rps, duration_s=SECONDS)
    times = schedule.intended_ns
    assert times is not None
    assert len(times) == len(schedule.input_tokens) == len(schedule.output_tokens) == len(schedule)
    assert np.all(np.diff(times) >= 0)
    assert times[0] >= 0
    assert times[-1] < SECONDS * 1e9
    assert schedule.input_tokens.min() >= 1
    assert schedule.output_tokens.min() >= 1
    limit = workload.lengths.max_input_tokens
    assert limit is None or schedule.input_tokens.max() <= limit
    again = build_open_schedule(workload, rate_rps=rate_rps, duration_s=SECONDS)
    assert again.digest == schedule.digest


@given(seed=st.integers(0, 2**32), rate_rps=st.floats(5, 60))
@settings(max_examples=50, deadline=None)
def test_the_realised_rate_is_the_poisson_one(seed: int, rate_rps: float) -> None:
    schedule = build_open_schedule(Workload(seed=seed), rate_rps=rate_rps, duration_s=100)
    expected = rate_rps * 100
    assert abs(len(schedule) - expected) < 6 * expected**0.5


@given(factor=st.floats(0.05, 3), seed=st.integers(0, 1000))
@settings(max_examples=50, deadline=None)
def test_scaling_keeps_the_sum_but_for_rounding(factor: float, seed: int) -> None:
    plain = build_closed_schedule(Workload(seed=seed), num_requests=300)
    scaled = build_closed_schedule(Workload(seed=seed, lengths=LengthScale(input_factor=factor)), num_requests=300)
    assert int(scaled.input_tokens.sum()) == pytest.approx(factor * int(plain.input_tokens.sum()), abs=0.5 * 300)


@given(rates=st.lists(st.floats(0.5, 50), min_size=2, max_size=4), seed=st.integers(0, 1000))
@settings(max_examples=25, deadline=None)
def test_requests_are_the_same_in_the_same_order_at_each_rate(rates: list[float], seed: int) -> None:
    workload = Workload(seed=seed)
    schedules = [build_open_schedule(workload, rate_rps=rate, duration_s=40) for rate in sorted(rates)]
    for low, high in pairwise(schedules):
        assert high.input_tokens[: len(low)].tolist() == low.input_tokens.tolist()


@given(size=st.integers(1, 400), seed=st.integers(0, 99), salt=st.text(max_size=5))
@settings(max_examples=50, deadline=None)
def test_cuts_of_one_salt_all_differ(size: int, seed: int, salt: str) -> None:
    ranks = {cut_rank(Piece("own", number, 1), size=size, seed=seed, salt=salt) for number in range(size)}
    assert ranks == set(range(size))


def test_digests_are_equal_across_processes_whatever_the_hash_seed() -> None:
    workload = Workload(seed=11, lengths=LengthScale(input_factor=0.1))
    command = [sys.executable, "-c", PROGRAM, workload.model_dump_json()]
    seen = {
        subprocess.run(
            command,
            env={"PYTHONHASHSEED": hash_seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            check=True,
        ).stdout.decode()
        for hash_seed in ("1", "2")
    }
    here = build_open_schedule(workload, rate_rps=3.7, duration_s=25).digest
    assert seen == {here + "\n"}
