"""Our own client as a program, told what the peers are told: every record is kept whole."""

import argparse
import json
from pathlib import Path

from adapters.openai import Dialect, encode_request
from adapters.protocol import Capabilities
from orchestrator.domain.endpoint import Endpoint
from orchestrator.domain.load import OpenLoad
from orchestrator.metrics.latency import ttft_s
from orchestrator.replay import PreparedRequest, Timing, replay_open
from tests.bench.peers.order import INPUT_TOKENS, OUTPUT_TOKENS

REQUEST_LIMIT_S = 1.0  # ten times an answer; a longer one asks for more descriptors than machines allow


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--rate", type=float, required=True)
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True)
    told = parser.parse_args()
    dialect = Dialect("completions", Capabilities(output_length_control="ignore_eos"))
    body = encode_request(list(range(INPUT_TOKENS)), told.model, dialect=dialect, max_tokens=OUTPUT_TOKENS)
    times = [round(index * 1e9 / told.rate) for index in range(told.count)]
    log = replay_open(
        [PreparedRequest(index, at, body, INPUT_TOKENS, OUTPUT_TOKENS) for index, at in enumerate(times)],
        Endpoint(told.url, told.model),
        load=OpenLoad(rate_rps=told.rate),
        timing=Timing(
            warmup_s=0, measure_s=told.count / told.rate, drain_s=2 * REQUEST_LIMIT_S, request_timeout_s=REQUEST_LIMIT_S
        ),
        dialect=dialect,
    )
    found = [ttft_s(one) for one in sorted(log.records, key=lambda one: one.intended_ns)]
    row = {"ttft_s": [value for value in found if value is not None], "num_failed": found.count(None)}
    told.out.write_text(json.dumps(row), encoding="utf-8")


if __name__ == "__main__":
    main()
