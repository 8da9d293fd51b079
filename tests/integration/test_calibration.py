"""The client held against the null server: a real process, real sockets, the very client that measures engines."""

import os
import re
from pathlib import Path

import numpy as np
import yaml

from adapters.openai import Dialect, encode_request
from adapters.protocol import Capabilities
from orchestrator.domain.clock import SystemClock
from orchestrator.domain.load import OpenLoad
from orchestrator.replay import PreparedRequest, Timing, replay_open
from orchestrator.replay.calibration import FLOOR_RPS, calibrate
from orchestrator.replay.calibration.null_process import MODEL, NullServer, Script
from tests.command_line import seatrial

SCRIPT = Script(tokens=8, ttft_s=0.030, itl_s=0.004)
RATE_RPS = 100
COUNT = 120


def cores() -> tuple[tuple[int, ...] | None, tuple[int, ...] | None]:
    allowed = sorted(os.sched_getaffinity(0))
    return ((allowed[0],), (allowed[-1],)) if len(allowed) > 1 else (None, None)


def test_the_null_server_sends_what_it_was_told_never_early_and_knows_when() -> None:
    client_cpus, server_cpus = cores()
    dialect = Dialect("completions", Capabilities(output_length_control="ignore_eos"))
    body = encode_request([1, 2, 3], MODEL, dialect=dialect, max_tokens=1)
    gap_ns = 1_000_000_000 // RATE_RPS
    requests = [PreparedRequest(index, index * gap_ns, body, 3, 1) for index in range(COUNT)]
    with NullServer(SCRIPT, cpus=server_cpus) as server:
        log = replay_open(
            requests,
            server.endpoint,
            load=OpenLoad(rate_rps=RATE_RPS),
            timing=Timing(0.2, 1.0, 5.0, 10.0),
            dialect=dialect,
            cpus=client_cpus,
        )
        truth = server.take()
        again = server.take()
    assert sorted(truth.index.tolist()) == list(range(COUNT))
    assert not again.index.size
    assert (truth.sent_ns >= truth.due_ns).all()
    assert (truth.due_ns[:, 0] - truth.received_ns >= SCRIPT.ttft_s * 1e9).all()
    assert (np.diff(truth.due_ns) == SCRIPT.itl_s * 1e9).all()
    rows = {int(index): row for row, index in enumerate(truth.index)}
    for record in log.records:
        row = rows[record.index]
        assert record.failure is None
        assert record.output_tokens_server == SCRIPT.tokens
        assert record.sent_ns is not None
        assert record.sent_ns <= truth.received_ns[row]
        assert len(record.chunk_ns) == SCRIPT.tokens
        assert (np.array(record.chunk_ns) >= truth.sent_ns[row]).all()


def test_processes_of_a_null_server_share_a_port_and_end_with_their_owner() -> None:
    allowed = sorted(os.sched_getaffinity(0))
    with NullServer(SCRIPT, cpus=allowed) as server:
        processes = list(server._processes)
        assert len(processes) == min(len(allowed), 3)
        assert len({one.port for one in processes}) == 1
        assert all(one.process.poll() is None for one in processes)
    assert all(one.process.poll() == 0 for one in processes)


def test_a_calibration_holds_a_floor_and_the_rates_that_were_looked_at() -> None:
    client_cpus, server_cpus = cores()
    found = calibrate(SystemClock(), cpus=client_cpus, engine_cpus=server_cpus, budget_s=1.0, highest_rps=250.0)
    assert 0 < found.ttft_floor_p50_s <= found.ttft_floor_p99_s < 1
    assert 0 < found.itl_error_p99_s < 1
    assert found.floor_rps == FLOOR_RPS
    assert found.max_rps <= 250
    assert found.max_chunks_per_s == found.max_rps * 16
    assert found.is_ceiling is (found.limited_by == "client")
    assert (found.client_cpus, found.server_cpus) == (client_cpus, server_cpus)


def test_a_load_beyond_the_client_is_refused_with_the_numbers_before_anything_is_deployed(tmp_path: Path) -> None:
    study = {
        "name": "beyond",
        "model": {"name": "none", "variant": "none"},
        "engines": [{"name": "simulated", "search": {}}],
        "workload": {"source": {"kind": "fixed", "input_tokens": 8, "output_tokens": 64}},
        "load": {"rates_rps": [40_000]},
        "window": {"warmup_s": 0.1, "measure_s": 0.2, "drain_s": 1},
        "slo": {"ttft_s": 1},
        "deploy": {"deployer": "local"},
    }
    path = tmp_path / "study.yaml"
    path.write_text(yaml.safe_dump(study), encoding="utf-8")
    done = seatrial("run", str(path), "--store", str(tmp_path / "store"), code=4)
    assert "client's own error in TTFT" in done.stderr
    assert "load 40000 requests/s: 40,000 requests/s and 2,560,000 chunks/s are planned" in done.stderr
    assert re.search("takes [0-9]+ client processes, and the study gives cores to 1|honest at no rate", done.stderr)
    assert not list(tmp_path.glob("store/studies/*"))
