"""What Ctrl-C does to a search: once, loads in flight are kept and nothing new starts; twice, it ends at once."""

import contextlib
import logging
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

logger = logging.getLogger(__name__)


@contextlib.contextmanager
def gentle_interrupt(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` at the first SIGINT and raise KeyboardInterrupt at the second; `stop` must only note.

    Outside the main thread signals stay as they are, since Python delivers none there.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def once(_number: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        logger.warning("stopping after the loads in flight, which are kept; Ctrl-C again stops now")
        stop()

    before = signal.signal(signal.SIGINT, once)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def no_interrupt() -> Iterator[None]:
    """Ignore SIGINT while a bounded clean-up runs, so that an impatient third Ctrl-C leaves no process either."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.alarm(0)  # Ray's handler of SIGTERM sets one, which aborts the process three seconds later
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
