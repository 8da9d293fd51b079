"""Prints how many bytes a request this process grew by in one replay with all records kept, tokens' 8 bytes apart."""

import resource
import sys
from pathlib import Path

from tests.bench.ruler_run import OUTPUT_TOKENS, constant_ns, replay

RATE_RPS = 1000.0
BYTES_PER_TOKEN = 8


def main() -> None:
    url, count = sys.argv[1], int(sys.argv[2])
    replay(url, constant_ns(RATE_RPS, 0.5), tokens=OUTPUT_TOKENS, cpus=None)
    before = _resident_bytes()
    log = replay(url, constant_ns(RATE_RPS, count / RATE_RPS - 1), tokens=OUTPUT_TOKENS, cpus=None)
    grown = _resident_bytes() - before
    if {one.failure for one in log.records} != {None}:
        raise SystemExit("requests failed; their memory says nothing")
    sys.stdout.write(f"{grown / len(log.records) - BYTES_PER_TOKEN * OUTPUT_TOKENS}\n")


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


if __name__ == "__main__":
    main()
