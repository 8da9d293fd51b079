"""Watches an open-loop load and gives it up once it has outgrown the server. Ends no request and keeps no record."""

import numpy as np

from orchestrator.domain.clock import NS_PER_S
from orchestrator.metrics.saturation import outgrowth
from orchestrator.metrics.trail import Trail, slice_length_s


class SaturationMonitor:
    """A `Monitor` for an open loop of `rate_rps` on average; its slices begin when it is first asked.

    An end costs three additions. What lies before the shortest queue so far is forgotten, since nothing is judged by
    it: under a load that the server carries, a look once a slice stays short, however long the window.
    """

    def __init__(self, rate_rps: float) -> None:
        self._rate_rps = rate_rps
        self._slice_ns = round(slice_length_s(rate_rps) * NS_PER_S)
        self._start_ns: int | None = None
        self._num_looks = 0
        self._in_flight: list[int] = []
        self._ended: list[int] = []
        self._timed: list[int] = []
        self._ttft_sum_s: list[float] = []
        self._ttft_least_s: list[float] = []

    def ended(self, *, intended_ns: int, ttft_ns: int | None, end_ns: int) -> None:  # noqa: ARG002 - the seam's signature
        """Count a request in the slice in which it ended."""
        if self._start_ns is None or end_ns < self._start_ns:
            return
        at = (end_ns - self._start_ns) // self._slice_ns
        self._reach(at)
        self._ended[at] += 1
        if ttft_ns is not None:
            self._timed[at] += 1
            self._ttft_sum_s[at] += ttft_ns / NS_PER_S
            self._ttft_least_s[at] = min(self._ttft_least_s[at], ttft_ns / NS_PER_S)

    def give_up(self, now_ns: int, in_flight: int) -> str | None:
        """Return why the load is hopeless, None to go on; looks once a slice."""
        if self._start_ns is None:
            self._start_ns = now_ns
            self._in_flight.append(in_flight)
            return None
        due = (now_ns - self._start_ns) // self._slice_ns + 1 - len(self._in_flight)
        if due <= 0:
            return None
        self._in_flight += [in_flight] * due  # more than one where the loop was held up
        self._num_looks += due
        whole = len(self._in_flight) - 1
        self._reach(whole - 1)
        if in_flight <= self._in_flight[0]:
            self._forget(whole)
            return None
        found = outgrowth(self._trail(), self._rate_rps, num_looks=self._num_looks)
        return None if found is None else found.text(self._rate_rps)

    def _forget(self, slices: int) -> None:
        """Begin anew with the slice that has just begun; the queue was never shorter."""
        if self._start_ns is not None:
            self._start_ns += slices * self._slice_ns
        for kept in (self._in_flight, self._ended, self._timed, self._ttft_sum_s, self._ttft_least_s):
            del kept[:slices]

    def _reach(self, at: int) -> None:
        missing = at + 1 - len(self._ended)
        if missing > 0:
            self._ended += [0] * missing
            self._timed += [0] * missing
            self._ttft_sum_s += [0.0] * missing
            self._ttft_least_s += [float("inf")] * missing

    def _trail(self) -> Trail:
        whole = len(self._in_flight) - 1
        return Trail(
            slice_s=self._slice_ns / NS_PER_S,
            in_flight=np.array(self._in_flight, dtype=np.int64),
            ended=np.array(self._ended[:whole], dtype=np.int64),
            timed=np.array(self._timed[:whole], dtype=np.int64),
            ttft_sum_s=np.array(self._ttft_sum_s[:whole]),
            ttft_least_s=np.array(self._ttft_least_s[:whole]),
        )
