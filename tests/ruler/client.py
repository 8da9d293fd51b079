"""A client in a process of its own, so that it alone can be held back: `python -m tests.ruler.client PORT RATE`.

Says `ready` once it has imported all it needs, replays when a line comes in, says `done`, then its verdict on itself.
"""

import sys

from orchestrator.domain.load import OpenLoad
from orchestrator.metrics.fidelity import judge
from tests.ruler.loads import offer

MEASURE_S = 1.5
TOKENS = 32


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    port, rate_rps = int(sys.argv[1]), float(sys.argv[2])
    _say("ready")
    sys.stdin.readline()
    log = offer(port, OpenLoad(rate_rps=rate_rps), measure_s=MEASURE_S, tokens=TOKENS, drain_s=0.5)
    _say("done")
    _say(judge(log).model_dump_json())
