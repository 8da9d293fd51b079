"""Parts of traffic, each made on its own, laid side by side in time: two profiles, or traffic and a burst."""

from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from workloads.blocks import BlockIds, make_blocks, offsets_of
from workloads.requests import NO_SESSION, Requests
from workloads.synthesis.curves import SynthesisError


@dataclass(frozen=True, slots=True)
class Part:
    """Requests and their arrivals (int64 nanoseconds, ascending).

    Block ids below `num_common_ids` mean the same text in every part; the others are the part's own.
    """

    arrival_ns: NDArray[np.int64]
    requests: Requests
    num_common_ids: int = 0


def merge_parts(parts: list[Part]) -> Part:
    """Merge parts by arrival, earlier parts first where times are equal; ids of blocks and sessions stay apart.

    Raises:
        SynthesisError: parts have blocks of different sizes.
    """
    if len(parts) == 1:
        return parts[0]
    arrival_ns = np.concatenate([part.arrival_ns for part in parts])
    order = np.argsort(arrival_ns, kind="stable")
    whole = Requests(
        np.concatenate([part.requests.input_tokens for part in parts]),
        np.concatenate([part.requests.output_tokens for part in parts]),
        _join_blocks(parts),
        _block_tokens(parts),
        _join_sessions(parts),
    )
    return Part(arrival_ns[order], whole.select(order))


def _block_tokens(parts: list[Part]) -> int | None:
    sizes = sorted({part.requests.block_tokens for part in parts if part.requests.block_tokens is not None})
    if len(sizes) > 1:
        raise SynthesisError(
            f"cannot mix prefixes of blocks of {' and '.join(map(str, sizes))} tokens; "
            "take the prefix out of one model, or measure both with one block size"
        )
    return sizes[0] if sizes else None


def _join_blocks(parts: list[Part]) -> BlockIds | None:
    if all(part.requests.blocks is None for part in parts):
        return None
    counts, values, shift = [], [], 0
    for part in parts:
        blocks = part.requests.blocks
        if blocks is None:
            counts.append(np.zeros(len(part.requests), dtype=np.int64))
            continue
        counts.append(blocks.counts)
        values.append(np.where(blocks.values < part.num_common_ids, blocks.values, blocks.values + shift))
        shift += int(blocks.values.max(initial=-1)) + 1
    return make_blocks(offsets_of(np.concatenate(counts)), np.concatenate(values))


def _join_sessions(parts: list[Part]) -> NDArray[np.int64] | None:
    columns = [part.requests.sessions for part in parts]
    if all(column is None for column in columns):
        return None
    sizes = [0 if column is None else int(column.max(initial=NO_SESSION)) + 1 for column in columns]
    shifts = [0, *accumulate(sizes)]
    return np.concatenate(
        [
            np.full(len(part.requests), NO_SESSION)
            if column is None
            else np.where(column == NO_SESSION, NO_SESSION, column + shift)
            for part, column, shift in zip(parts, columns, shifts, strict=False)
        ]
    )
