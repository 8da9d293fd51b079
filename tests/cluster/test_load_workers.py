"""Load workers on two nodes of a real Ray: one schedule, one start, clocks measured, a lost node's share said."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import ray
from ray._private.authentication.authentication_token_setup import ensure_token_if_auth_enabled
from ray.cluster_utils import Cluster

from adapters.openai import Dialect, encode_request
from adapters.protocol import Capabilities
from orchestrator.cluster.guard import end
from orchestrator.cluster.load_workers import NodeLaunch, load_nodes
from orchestrator.deploy.supervisor import descendants
from orchestrator.domain.endpoint import Endpoint
from orchestrator.domain.errors import DeploymentError
from orchestrator.domain.load import OpenLoad
from orchestrator.domain.records import ReplayLog, RequestFailure
from orchestrator.replay import PreparedRequest, Timing
from orchestrator.replay.workers import Crew, replay_shared
from orchestrator.replay.workers.coordinator import LEAD_NS

pytestmark = pytest.mark.cluster

ROOT = Path(__file__).resolve().parents[2]
S = 1_000_000_000
RATE_RPS, COUNT = 40, 80
DIALECT = Dialect("completions", Capabilities(output_length_control="ignore_eos"))
BODY = encode_request(list(range(20)), "simulated", dialect=DIALECT, max_tokens=4)


@contextmanager
def two_nodes() -> Iterator[list[str]]:
    """Start two raylets on this machine and end every process of them by its pid."""
    before = set(descendants(os.getpid()))
    ensure_token_if_auth_enabled(create_token_if_missing=True)
    memory = {"object_store_memory": 128 * 2**20, "include_dashboard": False}
    cluster = Cluster(shutdown_at_exit=False)
    try:
        cluster.add_node(num_cpus=1, **memory)
        cluster.add_node(num_cpus=1, **memory)
        ray.init(address=cluster.address, log_to_driver=False)
        yield [str(one["NodeID"]) for one in ray.nodes()]
    finally:
        ray.shutdown()
        cluster.shutdown()
        assert end(sorted(set(descendants(os.getpid())) - before)) == []


@contextmanager
def simulated() -> Iterator[Endpoint]:
    argv = [sys.executable, "-m", "adapters.simulated.server", "--port", "0", "--ttft-s", "0.02", "--itl-s", "0.005"]
    process = subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        port = int(re.search(r":(\d+) with", process.stdout.readline()).group(1))
        yield Endpoint(f"http://127.0.0.1:{port}", "simulated")
    finally:
        process.terminate()
        process.wait(10)
        process.stdout.close()


def replay(endpoint: Endpoint, nodes: list[str]) -> ReplayLog:
    return replay_shared(
        [PreparedRequest(at, at * S // RATE_RPS, BODY, 20, 4) for at in range(COUNT)],
        endpoint,
        load=OpenLoad(rate_rps=RATE_RPS),
        timing=Timing(0.5, 1.5, 2.0, 5.0),
        crew=Crew(2, launch=NodeLaunch(nodes)),
        dialect=DIALECT,
    )


def test_two_nodes_send_slices_of_one_schedule_and_a_lost_one_is_named() -> None:
    with simulated() as endpoint, two_nodes() as nodes:
        assert len(load_nodes(2)) == 2
        with pytest.raises(DeploymentError, match="asked for on 3 nodes, the cluster has 2"):
            load_nodes(3)
        log = replay(endpoint, nodes)
        assert [one.index for one in log.records] == list(range(COUNT))
        assert {one.failure for one in log.records} == {None}
        assert [one.intended_ns - log.started_ns for one in log.records] == [at * S // RATE_RPS for at in range(COUNT)]
        assert all(0 <= one.dispatched_ns - one.intended_ns < S for one in log.records)
        assert [(one.num_requests, one.failure) for one in log.workers] == [(COUNT // 2, None)] * 2
        assert all(0 <= one.clock_offset_ns <= one.clock_error_ns < S // 10 for one in log.workers), "one machine"
        assert all(one.clock_error_ns > 0 for one in log.workers)
        assert ppid_of_workers() == []

        lost = replay_with_a_kill(endpoint, nodes)
        assert [one.index for one in lost.records] == list(range(COUNT))
        assert sorted(one.failure is None for one in lost.workers) == [False, True]
        gone = [one for one in lost.records if one.failure is not None]
        assert {(one.failure, one.failure_detail) for one in gone} == {(RequestFailure.CANCELLED, "load worker lost")}
        assert len({one.index % 2 for one in gone}) == 1
        assert ppid_of_workers() == [], "a worker whose actor was killed goes with it"


def replay_with_a_kill(endpoint: Endpoint, nodes: list[str]) -> ReplayLog:
    def kill() -> None:
        os.kill(ppid_of_workers()[0], signal.SIGKILL)  # the actor; its worker must go with it

    def watch() -> None:
        while len(ppid_of_workers()) < 2:
            started.wait(0.05)
        threading.Timer(LEAD_NS / S + 1.5, kill).start()

    started = threading.Event()
    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        return replay(endpoint, nodes)
    finally:
        watcher.join()


def ppid_of_workers() -> list[int]:
    """Return the parents of the load workers below this process."""
    found = []
    for one in descendants(os.getpid()):
        try:
            command = Path(f"/proc/{one.pid}/cmdline").read_bytes()
            if b"orchestrator.replay.workers.worker" in command:
                found.append(int(Path(f"/proc/{one.pid}/stat").read_text().split()[3]))
        except FileNotFoundError:
            continue
    return found
