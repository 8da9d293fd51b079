"""Fifty set-ups in which nothing is wrong with the client: ten servers, good and bad, under five loads each."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from adapters.openai import Route
from orchestrator.domain.fidelity import Fidelity
from orchestrator.domain.load import ClosedLoad, OpenLoad
from orchestrator.metrics.fidelity import judge
from tests.ruler.loads import OPEN, Arrivals, offer
from tests.ruler.programs import sampled, simulated

CLOSED_USERS = 8
SCRIPT_LINES = 3000
LOADS = (*OPEN, "closed")


@dataclass(frozen=True, slots=True)
class Server:
    """A server by its flags; `steps` is a line of script that each request follows instead."""

    flags: tuple[str, ...]
    route: Route = "completions"
    timeout_s: float = 10.0
    steps: Mapping[str, object] | None = None


SERVERS: Mapping[str, Server] = {
    "fast": Server(("--ttft-s=0.02", "--itl-s=0.005")),
    "slow": Server(("--ttft-s=0.4", "--itl-s=0.04")),
    "failing": Server(("--ttft-s=0.02", "--itl-s=0.005", "--fail-every=3")),
    "cutting": Server(("--itl-s=0.005", "--fail-every=2", "--fail-kind=cut", "--fail-after-tokens=3")),
    "stalling": Server(("--fail-every=4", "--fail-kind=hang_after_headers", "--fail-after-tokens=2"), timeout_s=0.5),
    "full": Server(("--ttft-s=0.02", "--itl-s=0.005", "--max-running=3")),
    "slowing": Server(("--ttft-s=0.02", "--itl-s=0.005", "--slowdown-per-running=0.1")),
    "speculating": Server(("--ttft-s=0.02", "--itl-s=0.02", "--tokens-per-chunk=4")),
    # steps of speculation whose accepted tokens come one a chunk, all at once
    "stepping": Server((), steps={"ttft_s": 0.03, "itl_s": [0, 0, 0.03] * 5}),
    "chatty": Server(("--itl-s=0.005", "--first-chunk=role", "--reasoning-tokens=4", "--keepalive-s=0.02"), "chat"),
}
SETUPS = tuple((server, load) for server in SERVERS for load in LOADS)


def flags_of(name: str, folder: Path) -> tuple[str, ...]:
    """Return a server's flags; its script, if it has one, is written to the folder."""
    server = SERVERS[name]
    if server.steps is None:
        return server.flags
    script = folder / f"{name}.jsonl"
    script.write_text((json.dumps(server.steps) + "\n") * SCRIPT_LINES, encoding="utf-8")
    return (*server.flags, f"--script={script}")


@contextmanager
def running(name: str, folder: Path) -> Iterator[int]:
    """Run one of the servers and yield its port."""
    with simulated(*flags_of(name, folder)) as port:
        yield port


def run(name: str, load: str, *, port: int, folder: Path, measure_s: float, is_sampled: bool) -> Fidelity:
    """Measure one set-up and judge it, beside the engine's own histogram if asked for."""
    server = SERVERS[name]
    offered, arrivals = (ClosedLoad(users=CLOSED_USERS), None) if load == "closed" else _open(load)

    with sampled(port, folder) if is_sampled else nullcontext() as collector:
        log = offer(
            port, offered, arrivals, measure_s=measure_s, route=server.route, timeout_s=server.timeout_s, drain_s=1.0
        )
        return judge(log, telemetry=None if collector is None else collector.snapshot())


def _open(load: str) -> tuple[OpenLoad, Arrivals]:
    rate_rps, arrivals = OPEN[load]
    return OpenLoad(rate_rps=rate_rps), arrivals
