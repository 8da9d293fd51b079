"""A program: twenty requests at a server that holds its connections, from a network with eight ports to go out from.

Prints how the requests failed, as JSON. Needs a network namespace of its own.
"""

import fcntl
import json
import socket
import struct
import sys
import threading
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from orchestrator.domain.endpoint import Endpoint
from orchestrator.domain.load import OpenLoad
from orchestrator.domain.records import RequestFailure
from orchestrator.replay import PreparedRequest, Timing, replay_open

SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
PORT = 30_000


def raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        (flags,) = struct.unpack_from("h", fcntl.ioctl(control, SIOCGIFFLAGS, struct.pack("16sh14x", b"lo", 0)), 16)
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | IFF_UP))


def hold(listening: socket.socket) -> None:
    held = []
    while True:
        held.append(listening.accept()[0])


def main() -> None:
    raise_loopback()
    Path("/proc/sys/net/ipv4/ip_local_port_range").write_text("40000 40007", encoding="ascii")
    listening = socket.create_server(("127.0.0.1", PORT), backlog=64)
    threading.Thread(target=hold, args=(listening,), daemon=True).start()
    log = replay_open(
        [PreparedRequest(at, at * 5_000_000, b"{}", 5, 6) for at in range(20)],
        Endpoint(f"http://127.0.0.1:{PORT}", "m"),
        load=OpenLoad(rate_rps=200),
        timing=Timing(warmup_s=0, measure_s=0.15, drain_s=5, request_timeout_s=1),
    )
    failures = Counter(str(one.failure) for one in log.records)
    refusals = sorted({str(one.failure_detail) for one in log.records if one.failure is RequestFailure.REFUSED})
    sys.stdout.write(json.dumps({"failures": failures, "refusals": refusals}))


if __name__ == "__main__":
    main()
