"""The simulated scheduler: who runs, who waits, what was counted. Sends nothing itself."""

import os
import sys
import time
from bisect import bisect_left
from collections import deque
from typing import NoReturn, Protocol

from adapters.simulated.dialect import Generation, Tokens
from adapters.simulated.due import DueQueue
from adapters.simulated.options import Options
from adapters.simulated.prefix_cache import PrefixCache
from adapters.simulated.send_log import SendLog, SendRecord

CRASH_STATUS = 134
TTFT_BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 25.0, 60.0)


class Runnable(Protocol):
    """A reply as the scheduler sees it."""

    record: SendRecord
    prompt: Tokens

    def admit(self, admitted_ns: int) -> None:
        """Begin to run; the reply's times count from `admitted_ns`."""
        ...


class Engine:
    """Runs up to `max_running` replies, keeps the others in order of arrival."""

    def __init__(self, options: Options, due: DueQueue, send_log: SendLog) -> None:
        self.options = options
        self.due = due
        self.send_log = send_log
        self.prefix_cache = PrefixCache(options.kv_tokens)
        self.running: dict[Runnable, None] = {}
        self.waiting: deque[Runnable] = deque()
        self.arrivals = 0
        self.input_tokens = 0
        self.output_tokens = 0
        self.prefix_query_tokens = 0
        self.prefix_hit_tokens = 0
        self.ttft_buckets = [0] * (len(TTFT_BUCKETS_S) + 1)
        self.ttft_sum_s = 0.0
        self._grown: list[bytes] = []

    def arrive(self, generation: Generation, received_ns: int) -> SendRecord:
        """Count an arrival and open its record; here the engine grows or crashes if it was told to."""
        options = self.options
        if options.crash_after_requests is not None and self.arrivals >= options.crash_after_requests:
            self._crash()
        if options.grow_bytes_per_request:
            self._grown.append(b"\x01" * options.grow_bytes_per_request)  # written, so resident
        record = SendRecord(self.arrivals, generation.request_id, received_ns, len(generation.prompt))
        self.arrivals += 1
        return record

    def _crash(self) -> NoReturn:
        print(f"simulated engine: crash after {self.arrivals} requests, as asked", file=sys.stderr, flush=True)  # noqa: T201 - its log
        self.send_log.flush()
        os._exit(CRASH_STATUS)

    def submit(self, reply: Runnable) -> None:
        """Run the reply now, its times counted from receipt, or queue it."""
        limit = self.options.max_running
        if limit is None or len(self.running) < limit:
            self._admit(reply, reply.record.received_ns)
        else:
            self.waiting.append(reply)

    def _admit(self, reply: Runnable, admitted_ns: int) -> None:
        record = reply.record
        record.admitted_ns = admitted_ns
        record.cached_tokens = self.prefix_cache.admit(reply.prompt)
        self.input_tokens += record.input_tokens
        self.prefix_query_tokens += record.input_tokens
        self.prefix_hit_tokens += record.cached_tokens
        self.running[reply] = None
        reply.admit(admitted_ns)

    def leave(self, reply: Runnable) -> None:
        """Close a reply's record and give its place to the first that waits."""
        reply.record.ended_ns = time.monotonic_ns()
        self.send_log.write(reply.record)
        if reply in self.running:
            del self.running[reply]
        elif reply in self.waiting:
            self.waiting.remove(reply)
        limit = self.options.max_running
        while self.waiting and (limit is None or len(self.running) < limit):
            self._admit(self.waiting.popleft(), time.monotonic_ns())

    def slowed_ns(self, gap_ns: int) -> int:
        """Stretch a gap by what the others that run cost: gap * (1 + slowdown_per_running * (running - 1))."""
        rate = self.options.slowdown_per_running
        return gap_ns if rate == 0.0 else round(gap_ns * (1.0 + rate * max(0, len(self.running) - 1)))

    def count_sent(self, tokens: int) -> None:
        """Count generated tokens."""
        self.output_tokens += tokens

    def observe_ttft(self, ttft_s: float) -> None:
        """Count one time to first token, seconds from receipt."""
        self.ttft_buckets[bisect_left(TTFT_BUCKETS_S, ttft_s)] += 1
        self.ttft_sum_s += ttft_s

    def kv_cache_utilization(self) -> float:
        """Return the share of the pool that running requests hold, 0 to 1."""
        held = sum(reply.record.input_tokens + reply.record.output_tokens for reply in self.running)
        return min(1.0, held / self.options.kv_tokens)

    def stop(self) -> None:
        """Send nothing more and close the records of everything that is still open."""
        self.due.close()
        for reply in [*self.running, *self.waiting]:
            reply.record.outcome = "server_stopped"
            self.send_log.write(reply.record)
        self.send_log.close()
