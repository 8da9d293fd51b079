from pathlib import Path

import pytest

from orchestrator.cli.offered_traffic import changed, choose_workload, read_workload, scaled
from orchestrator.cli.replay_plan import ReplayPlan, settle, slo_of, window_of
from orchestrator.domain.errors import InputError
from orchestrator.domain.load import ClosedLoad, OfferedLoad, OpenLoad
from orchestrator.domain.window import WindowSpec
from workloads.catalog import UnknownProfileError
from workloads.workload import LengthScale, ProfileSource, PublishedSource, TraceSource, Workload


def plan(
    *loads: OfferedLoad, workload: Workload | None = None, requests: int | None = None, warmup: float = 0
) -> ReplayPlan:
    window = WindowSpec(warmup_s=warmup, measure_s=5)
    return ReplayPlan(workload or Workload(), loads, window, requests, None)


def window(
    duration: float | None = None, warmup: float | None = None, *, counted: bool = False, ramp: bool = False
) -> WindowSpec:
    return window_of(duration, warmup, drain_s=30, timeout_s=60, keeps_going=False, ends_by_count=counted, is_ramp=ramp)


def trace_of(folder: Path, seconds: list[float]) -> Workload:
    path = folder / "trace.csv"
    rows = [f"2024-01-01 00:00:{second:010.7f},8,4" for second in seconds]
    path.write_text("\n".join(["TIMESTAMP,ContextTokens,GeneratedTokens", *rows]), encoding="utf-8")
    return Workload(source=TraceSource(path=path))


def test_a_window_by_count_needs_no_warm_up() -> None:
    assert (window().warmup_s, window().measure_s) == (2, 30)
    assert window(counted=True).warmup_s == 0
    assert window(7, 1, counted=True).warmup_s == 1


def test_a_ramp_is_not_warmed_up() -> None:
    assert window(10, ramp=True).warmup_s == 0
    with pytest.raises(InputError, match="--ramp"):
        window(10, 1, ramp=True)
    with pytest.raises(InputError, match="--ramp"):
        window(10, ramp=True, counted=True)


def test_made_traffic_needs_a_load() -> None:
    with pytest.raises(InputError, match="--rate"):
        settle(plan())


def test_users_counted_from_a_warm_up_are_refused() -> None:
    with pytest.raises(InputError, match="--warmup"):
        settle(plan(ClosedLoad(users=2), requests=10, warmup=1))


def test_a_trace_is_replayed_at_its_own_rate(tmp_path: Path) -> None:
    workload = trace_of(tmp_path, [0, 1, 2, 3, 4, 4.5, 6])
    settled = settle(plan(workload=workload))
    assert settled.loads == (OpenLoad(rate_rps=6 / 5),)


def test_a_trace_by_count_ends_where_the_next_request_comes(tmp_path: Path) -> None:
    workload = trace_of(tmp_path, [0, 1, 2, 3, 4, 4.5, 6])
    settled = settle(plan(workload=workload, requests=4))
    assert (settled.loads, settled.window.measure_s, settled.requests) == ((OpenLoad(rate_rps=1),), 4, None)
    with pytest.raises(InputError, match="has 7"):
        settle(plan(workload=workload, requests=8))


def test_one_workload_is_chosen() -> None:
    sizes: tuple[int | None, int | None] = (8, None)
    with pytest.raises(InputError, match="go together"):
        choose_workload(trace=None, workload=None, sizes=sizes, start_s=0)
    with pytest.raises(InputError, match="choose one of"):
        choose_workload(trace=Path("a"), workload="chat", sizes=(None, None), start_s=0)
    assert choose_workload(trace=None, workload=None, sizes=(None, None), start_s=0).source == PublishedSource(
        name="chat"
    )


def test_a_workload_of_synth_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "twisted.yaml"
    path.write_text(
        "source: {kind: published, name: chat, knobs: {input_scale: 0.5}}\nseed: 3\nstop: natural\n", encoding="utf-8"
    )
    read = read_workload(str(path))
    assert isinstance(read.source, PublishedSource)
    assert (read.source.knobs.input_scale, read.seed, read.stop) == (0.5, 3, "natural")
    assert changed(read, {"seed": 4, "stop": None}).stop == "natural"
    assert changed(read, {"seed": 4, "stop": None}).seed == 4


def test_a_profile_is_a_workload(tmp_path: Path) -> None:
    path = tmp_path / "profile.yaml"
    quantiles = "{kind: quantiles, probabilities: [0, 1], tokens: [8, 8]}"
    path.write_text(
        f"traffic: {{arrivals: {{kind: poisson}}, input_tokens: {quantiles}, output_tokens: {quantiles}}}",
        encoding="utf-8",
    )
    assert read_workload(str(path)).source == ProfileSource(path=path)


def test_a_workload_that_is_none_is_said(tmp_path: Path) -> None:
    path = tmp_path / "odd.yaml"
    path.write_text("source: {kind: published, name: chat}\nsede: 3\n", encoding="utf-8")
    with pytest.raises(InputError, match="sede"):
        read_workload(str(path))
    with pytest.raises(UnknownProfileError, match="did you mean chat"):
        read_workload("chatt")


def test_lengths_typed_replace_the_workloads_own() -> None:
    own = LengthScale(input_factor=0.5, max_input_tokens=100)
    assert scaled(own, None, (None, 9)) == LengthScale(input_factor=0.5, max_input_tokens=100, max_output_tokens=9)
    assert scaled(own, 2.0, (None, None)).input_factor == 2.0


def test_no_bound_is_no_promise() -> None:
    assert slo_of(None, None, None, attainment=0.5) is None
    found = slo_of(None, 0.1, None, attainment=0.5)
    assert found is not None
    assert (found.tpot_s, found.attainment) == (0.1, 0.5)
