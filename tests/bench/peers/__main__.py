"""Holds our client against vLLM's bench, AIPerf and GuideLLM in one run on one machine, and writes one JSON object.

Clients run one at a time on the first core, the scripted server on the last. A peer that cannot be installed or run
has no figure, with the reason beside it. Needs a quiet machine: a run beside other work is made again, then given up.
"""

import argparse
import json
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from orchestrator.environments.folder import engines_folder
from tests.bench.peers.clients import PEERS, seatrial
from tests.bench.peers.environment import PeerError
from tests.bench.peers.ladder import Rung, climb
from tests.bench.peers.order import Client
from tests.bench.peers.running import Bench, quiet, settled_errors_s
from tests.bench.scripted_server import NoCompilerError

FIRST_PEER_RPS, FIRST_OWN_RPS = 50.0, 800.0
ERROR_RPS, ERROR_COUNT = 50.0, 1000
Figure = TypeVar("Figure")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("bench-peers.json"))
    parser.add_argument("--only", nargs="*", choices=list(PEERS), default=list(PEERS), help="measure these peers only")
    told = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that no client outlives its bench
    bench = here()
    try:
        own = _measured(bench, seatrial(), FIRST_OWN_RPS)
        peers = {name: _peer(bench, name) for name in told.only}
    except NoCompilerError as error:
        raise SystemExit(f"bench-peers: {error}") from error
    text = json.dumps({**_ratios(own, peers), "clients": {"seatrial": own, **peers}}, indent=2, allow_nan=False)
    told.out.write_text(text + "\n", encoding="utf-8")
    sys.stdout.write(text + "\n")


def here() -> Bench:
    """Say where clients run on this machine."""
    cores = sorted(os.sched_getaffinity(0))
    return Bench(cores[0], (cores[-1],), engines_folder().parent / "models" / "smollm2-135m" / "tokenizer")


def _ratios(own: dict[str, Any], peers: dict[str, dict[str, Any]]) -> dict[str, float | None]:
    """Return how many times a peer's highest honest rate ours is, None where either has none."""
    ours, theirs = own["honest_rps"], {name: one["honest_rps"] for name, one in peers.items()}
    return {f"ruler_vs_{name}": ours / rate if ours and rate else None for name, rate in theirs.items()}


def _peer(bench: Bench, name: str) -> dict[str, Any]:
    if not bench.tokenizer.is_dir():
        missing = "no tokenizer here; fetch one with: seatrial models fetch smollm2-135m --variant q8_0"
        return {"honest_rps": None, "reasons": {"honest_rps": missing}}
    try:
        return _measured(bench, PEERS[name](), FIRST_PEER_RPS)
    except PeerError as error:
        return {"honest_rps": None, "reasons": {"honest_rps": str(error)}}


def _measured(bench: Bench, client: Client, first_rps: float) -> dict[str, Any]:
    """Return a client's figures; one that cannot be had is None, and `reasons` says why."""
    found = climb(lambda rate_rps: _told(client, bench.rung(client, rate_rps)), first_rps)
    reasons: dict[str, str] = {}
    errors = _or_none(lambda: _errors_at_50(bench, client), reasons, "ttft_error") or {}
    return {
        "version": client.version,
        "honest_rps": found.honest_rps,
        "ended_by": found.ended_by,
        "ttft_error_p50_s": errors.get("p50"),
        "ttft_error_p99_s": errors.get("p99"),
        "exec_to_exit_10_requests_s": _or_none(lambda: bench.exec_to_exit_s(client), reasons, "exec_to_exit"),
        "reasons": reasons,
        "rungs": [asdict(one) for one in found.rungs],
    }


def _errors_at_50(bench: Bench, client: Client) -> dict[str, float]:
    seen = quiet(bench, client, ERROR_RPS, count=ERROR_COUNT)
    errors_s = settled_errors_s(seen, ERROR_RPS)
    return {"p50": float(np.quantile(errors_s, 0.5)), "p99": float(np.quantile(errors_s, 0.99))}


def _or_none(measure: Callable[[], Figure], reasons: dict[str, str], name: str) -> Figure | None:
    try:
        return measure()
    except PeerError as error:
        reasons[name] = str(error)
        return None


def _told(client: Client, rung: Rung) -> Rung:
    sys.stderr.write(f"{client.name} at {rung.rate_rps:.0f}/s: {rung.objection or 'honest'}\n")
    return rung


if __name__ == "__main__":
    main()
