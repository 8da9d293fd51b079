"""The search for the client's limit and the comparison behind it, on made-up looks and records."""

import io
import os
from array import array
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from adapters.openai import Dialect
from adapters.protocol import Capabilities
from orchestrator.domain.calibration import Calibration, ClientNeed
from orchestrator.domain.errors import MeasurementRefusedError
from orchestrator.domain.load import OpenLoad
from orchestrator.domain.records import ReplayLog, RequestFailure, RequestRecord, Window
from orchestrator.replay import calibration
from orchestrator.replay.calibration.null_process import Truth, read_truth
from orchestrator.replay.calibration.probe import Probe, compare
from orchestrator.replay.calibration.search import Ceiling, find_ceiling
from orchestrator.replay.null_server import encode_pieces

MS = 1_000_000
CHUNKS = 4


def look(rate_rps: float, **changes: object) -> Probe:
    sample = np.full(100, 0.0002)
    values = {
        "rate_rps": rate_rps,
        "chunks_per_s": rate_rps * 16,
        "achieved_ratio": 1.0,
        "num_lost": 0,
        "ttft_error_s": sample,
        "itl_error_s": sample,
        "dispatch_lag_s": sample,
        "server_late_s": sample,
    }
    return Probe(**(values | changes))  # type: ignore[arg-type]


def client_of(limit_rps: float) -> Callable[[float], Probe]:
    return lambda rate: look(rate, ttft_error_s=np.full(100, 0.0002 if rate <= limit_rps else 0.065))


def server_of(limit_rps: float) -> Callable[[float], Probe]:
    return lambda rate: look(rate, server_late_s=np.full(100, 0.0001 if rate <= limit_rps else 0.020))


def search(see: Callable[[float], Probe], *, looks: int = 1000, highest_rps: float = 64_000.0) -> Ceiling:
    left: Iterator[bool] = iter([True] * looks)
    return find_ceiling(see, has_time=lambda: next(left, False), highest_rps=highest_rps)


@pytest.mark.parametrize("limit_rps", [45.0, 700.0, 1000.0, 3100.0, 30_000.0])
def test_a_client_that_gives_up_at_a_rate_is_found_within_a_tenth_below_it(limit_rps: float) -> None:
    found = search(client_of(limit_rps))
    assert found.limited_by == "client"
    assert found.best is not None
    assert limit_rps * 0.9 <= found.best.rate_rps <= limit_rps


def test_a_server_that_is_late_first_is_not_taken_for_the_client() -> None:
    found = search(server_of(2500.0))
    assert found.limited_by == "null_server"
    assert found.best is not None
    assert 2200 < found.best.rate_rps <= 2500


def test_a_search_that_ends_before_a_limit_says_so() -> None:
    assert search(client_of(1e9)).limited_by == "search"
    assert search(client_of(1e9), looks=2).limited_by == "search"
    found = search(client_of(1e9), highest_rps=500.0)
    assert (found.limited_by, found.best and found.best.rate_rps) == ("search", 500.0)


def test_a_client_that_is_honest_nowhere_has_no_best_rate() -> None:
    found = search(client_of(0.0))
    assert (found.best, found.limited_by) == (None, "client")


def test_one_bad_moment_of_the_machine_is_not_the_clients_limit() -> None:
    seen: list[float] = []

    def see(rate: float) -> Probe:
        seen.append(rate)
        return client_of(0.0 if seen.count(rate) == 1 else 1900.0)(rate)

    found = search(see)
    assert found.best is not None
    assert found.best.rate_rps > 1700


@pytest.mark.parametrize(
    ("fault", "verdict"),
    [
        ({}, "honest"),
        ({"achieved_ratio": 0.94}, "client"),
        ({"num_lost": 1}, "client"),
        ({"ttft_error_s": np.r_[np.zeros(98), 0.05, 0.05]}, "client"),
        ({"dispatch_lag_s": np.full(9, 0.011)}, "client"),
        ({"server_late_s": np.full(9, 0.006), "ttft_error_s": np.full(9, 0.5)}, "null_server"),
        ({"server_late_s": np.zeros(0)}, "null_server"),
    ],
)
def test_a_look_says_whose_fault_it_is(fault: dict[str, object], verdict: str) -> None:
    assert look(100.0, **fault).verdict == verdict


def record(index: int, *, sent_ms: float, chunks_ms: tuple[float, ...], **changes: object) -> RequestRecord:
    values: dict[str, object] = {
        "index": index,
        "intended_ns": index * MS,
        "dispatched_ns": index * MS + 100_000,
        "sent_ns": round(sent_ms * MS),
        "chunk_ns": array("q", [round(at * MS) for at in chunks_ms]),
        "end_ns": round(chunks_ms[-1] * MS),
        "input_tokens": 1,
        "output_tokens_asked": 1,
    }
    return RequestRecord(**(values | changes))  # type: ignore[arg-type]


def a_log(*records: RequestRecord) -> ReplayLog:
    return ReplayLog(OpenLoad(rate_rps=1000), records, 0, Window(0, 100 * MS), 200 * MS, array("q"), 0.1)


def a_truth(*rows: tuple[int, float, tuple[float, ...]]) -> Truth:
    sent_ns = np.array([[round(at * MS) for at in sent] for _, _, sent in rows], dtype=np.int64)
    received = np.array([round(at * MS) for _, at, _ in rows], dtype=np.int64)
    return Truth(np.array([index for index, _, _ in rows]), received, sent_ns, sent_ns - 1000)


def test_errors_are_what_the_client_says_less_what_the_server_did() -> None:
    log = a_log(
        record(0, sent_ms=0, chunks_ms=(21, 26, 31, 36)),
        record(1, sent_ms=1, chunks_ms=(21.5, 26, 33, 36)),
        record(2, sent_ms=2, chunks_ms=(30, 31, 32, 33), failure=RequestFailure.TIMEOUT),
    )
    truth = a_truth((1, 1.1, (21.1, 26, 31, 36)), (0, 0.2, (20.2, 25.2, 30.2, 35.2)))
    seen = compare(log, truth, rate_rps=1000, num_planned=4)
    assert seen.ttft_error_s == pytest.approx([0.001, 0.0005])
    assert seen.itl_error_s == pytest.approx([0, 0, 0, 0.0004, 0.002, 0.002])
    assert seen.dispatch_lag_s == pytest.approx(0.0001)
    assert seen.server_late_s == pytest.approx(1e-6)
    assert (seen.num_lost, seen.achieved_ratio, seen.chunks_per_s) == (2, 0.75, 4000)


def test_a_record_that_is_cut_is_refused() -> None:
    facts = {"replies": 2, "pieces": 3, "slot_ns": 250_000, "ttft_ns": 20 * MS, "itl_ns": 5 * MS}
    numbers = np.arange(10, dtype=np.int64)
    truth = read_truth(facts, io.BytesIO(numbers.tobytes()))
    assert (truth.index.tolist(), truth.received_ns.tolist()) == ([0, 1], [2, 3])
    assert truth.sent_ns.tolist() == [[4, 5, 6], [7, 8, 9]]
    assert np.diff(truth.due_ns).tolist() == [[5 * MS] * 2] * 2
    assert truth.due_ns[0, 0] == 20 * MS + 250_000  # rounded up to the next slot
    with pytest.raises(MeasurementRefusedError, match="80 bytes were expected, 72 seen"):
        read_truth(facts, io.BytesIO(numbers.tobytes()[:-8]))


def test_every_token_of_the_null_server_is_one_chunk_to_the_client() -> None:
    scanner = Dialect("completions", Capabilities()).scanner()
    for at, piece in enumerate(encode_pieces(CHUNKS)):
        body = piece.partition(b"\r\n\r\n")[2] if at == 0 else piece
        for line in body.split(b"\r\n"):
            if line.startswith(b"data:"):
                scanner.feed(line, at)
    assert scanner.chunk_ns.tolist() == list(range(CHUNKS))
    assert scanner.usage is not None
    assert scanner.usage.output_tokens == CHUNKS
    assert scanner.finish_reason == "length"


def limits(**changes: object) -> Calibration:
    values: dict[str, object] = {
        "ttft_floor_p50_s": 0.0002,
        "ttft_floor_p99_s": 0.0005,
        "itl_error_p99_s": 0.0001,
        "max_rps": 6000.0,
        "max_chunks_per_s": 96_000.0,
        "is_ceiling": True,
        "limited_by": "client",
        "measured_at": "2030-01-01T00:00:00+00:00",
    }
    return Calibration.model_validate(values | changes)


@pytest.mark.parametrize(
    ("rps", "chunks_per_s", "workers"),
    [(1, 1, 1), (5000, 1, 1), (5001, 1, 2), (1, 80_000, 1), (1, 81_000, 2), (20_000, 10, 4)],
)
def test_a_load_needs_as_many_processes_as_carry_it_with_a_fifth_to_spare(
    rps: float, chunks_per_s: float, workers: int
) -> None:
    assert limits().workers_for(ClientNeed(rps, chunks_per_s)) == workers


def test_nothing_is_said_of_a_load_where_no_rate_was_shown_honest() -> None:
    none = limits(max_rps=0.0, max_chunks_per_s=0.0)
    assert none.workers_for(ClientNeed(1, 1)) is None
    assert "honest at no rate" in str(none)


def test_the_line_says_whose_limit_it_is() -> None:
    assert "TTFT 0.20 ms (P50), 0.50 ms (P99), in ITL 0.10 ms (P99)" in str(limits())
    assert "6,000 requests/s and 96,000 chunks/s a process (beyond it the client is not honest)" in str(limits())
    late = limits(is_ceiling=False, limited_by="null_server", notes=("client and engine share cores 1",))
    assert str(late).endswith("(the null server, not the client, set this limit); client and engine share cores 1")


@pytest.mark.parametrize(
    ("client", "engine", "server"),
    [
        ((0,), (1, 2), (1, 2)),
        ((0,), None, (1, 2, 3)),
        ((0, 1), (0, 1), (2, 3)),
        (None, (1,), (1,)),
        (None, None, None),
        ((0, 1, 2, 3), None, None),
        ((0,), (9,), (1, 2, 3)),
    ],
)
def test_the_null_server_takes_the_engines_place_and_never_the_clients(
    client: tuple[int, ...] | None,
    engine: tuple[int, ...] | None,
    server: tuple[int, ...] | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3})
    assert calibration.place_server(client, engine) == server
