"""Looks at sources at absolute times and writes what they say as JSON lines."""

import json
import threading
import time
from typing import TextIO

from orchestrator.telemetry.reading import GapError, Source

NS_PER_S = 1_000_000_000


class Sink:
    """Writes one JSON line an event, whole lines only, from several threads."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._lock = threading.Lock()

    def write(self, **event: object) -> None:
        """Write one event and hand it to the system at once."""
        line = json.dumps(event, allow_nan=False) + "\n"
        with self._lock:
            self._file.write(line)
            self._file.flush()


def look(source: Source, sink: Sink, *, interval_ns: int) -> None:
    """Look at a source once and write its reading or its gap; a look that took longer than the interval is noted."""
    began_ns = time.monotonic_ns()
    try:
        reading = source.read()
    except GapError as gap:
        sink.write(gap=source.name, reason=str(gap))
    else:
        sink.write(**{"from": source.name, "t": reading.time_ns, "v": reading.values})
    took_ns = time.monotonic_ns() - began_ns
    if took_ns > interval_ns:
        sink.write(slow=source.name, took_s=took_ns / NS_PER_S)


def next_tick_ns(due_ns: int, now_ns: int, *, interval_ns: int) -> int:
    """Return the first tick of the grid through `due_ns` that is after both; missed ticks are left out, not made up."""
    passed = max(0, now_ns - due_ns) // interval_ns
    return due_ns + (passed + 1) * interval_ns


def sample(source: Source, sink: Sink, stop: threading.Event, *, interval_ns: int) -> None:
    """Look at a source at absolute times until told to stop."""
    due_ns = time.monotonic_ns()
    while not stop.is_set():
        look(source, sink, interval_ns=interval_ns)
        due_ns = next_tick_ns(due_ns, time.monotonic_ns(), interval_ns=interval_ns)
        stop.wait(max(0, due_ns - time.monotonic_ns()) / NS_PER_S)
