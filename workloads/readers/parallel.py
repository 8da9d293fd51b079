"""Work on a stream of items in a few threads, results in order, never more than a handful of items at once."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
MAX_THREADS = 4
AHEAD_PER_THREAD = 2


def map_in_order(work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Yield `work(item)` for each item; the next items are under way meanwhile, and dropped if the caller stops."""
    threads = min(MAX_THREADS, os.cpu_count() or 1)
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) >= AHEAD_PER_THREAD * threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for one in waiting:
                one.cancel()
