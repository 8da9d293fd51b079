"""A line on a terminal that says how far a measurement is; nothing where stderr is no terminal.

It counts time and knows nothing of the requests, so that the client has nothing to tell: one short write a second from
a thread of its own, which releases the interpreter while it waits.
"""

import sys
import threading
import time
from types import TracebackType
from typing import Self

TICK_S = 1.0


class Countdown:
    """Shows one line that is written over once a second and wiped at the end. Also a context manager.

    `warmup_s` and `measure_s` are the planned spans in seconds; `measure_s` None where the end is not known.
    """

    def __init__(self, label: str, *, warmup_s: float, measure_s: float | None) -> None:
        self._label = label
        self._warmup_s = warmup_s
        self._measure_s = measure_s
        self._is_over = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._thread is not None:
            self._is_over.set()
            self._thread.join()

    def line(self, passed_s: float) -> str:
        """Say how far it is after so many seconds."""
        in_window_s = passed_s - self._warmup_s
        if in_window_s < 0:
            return f"{self._label}: warm-up, {passed_s:.0f} of {self._warmup_s:g} s"
        if self._measure_s is None:
            return f"{self._label}: {in_window_s:.0f} s"
        if in_window_s < self._measure_s:
            return f"{self._label}: {in_window_s:.0f} of {self._measure_s:g} s"
        return f"{self._label}: waiting for the last answers, {in_window_s - self._measure_s:.0f} s"

    def _run(self) -> None:
        began_s = time.monotonic()
        while not self._is_over.wait(TICK_S):
            sys.stderr.write(f"\r\x1b[K{self.line(time.monotonic() - began_s)}")
            sys.stderr.flush()
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
