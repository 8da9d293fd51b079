"""Which conversation a request belongs to, where each names only the one before it."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from workloads.trace import TraceError

NO_PARENT = -1
MAX_DOUBLINGS = 64


def find_roots(chat_ids: NDArray[np.int64], parent_ids: NDArray[np.int64], path: Path) -> tuple[NDArray[np.int64], int]:
    """Return the root's id for each chat, and how many chats name a parent that is not there.

    Such a chat, and one with parent -1, is a root itself, save that chats with the same missing parent belong together.
    Parents are followed by pointer doubling, so depth costs only its logarithm.

    Raises:
        TraceError: a chat is its own ancestor.
    """
    ids = np.unique(np.concatenate([chat_ids, parent_ids[parent_ids != NO_PARENT]]))
    places = np.searchsorted(ids, chat_ids)
    above = np.arange(len(ids))
    has_parent = parent_ids != NO_PARENT
    above[places[has_parent]] = np.searchsorted(ids, parent_ids[has_parent])
    for _ in range(MAX_DOUBLINGS):
        further = above[above]
        if np.array_equal(further, above):
            num_orphans = int(np.count_nonzero(~np.isin(parent_ids[has_parent], chat_ids)))
            return ids[above[places]], num_orphans
        above = further
    raise TraceError(
        "chats that are their own ancestors", path=path, advice="Each parent_chat_id must lead to a root (-1)"
    )
