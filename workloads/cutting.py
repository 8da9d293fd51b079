"""Where in a corpus each piece of a prompt is cut: a keyed one-to-one map, so that pieces with different keys differ.

Places are whatever the corpus is counted in: tokens, or characters where no tokenizer is known.
"""

import hashlib
import math
from functools import lru_cache
from typing import Literal, NamedTuple

from workloads.schedule import Schedule

Domain = Literal["block", "own"]
KEY_BYTES = 8
UNIT_SEPARATOR = "\x1f"


class Piece(NamedTuple):
    """A run of tokens of one prompt, cut from one place.

    `number` says who it is: a block's id, or the request's index for what it shares with nobody.
    """

    domain: Domain
    number: int
    tokens: int


def pieces_of(schedule: Schedule, index: int) -> list[Piece]:
    """Split a request's prompt into its blocks and what is its own, first token first."""
    left = int(schedule.input_tokens[index])
    pieces = []
    if schedule.blocks is not None and schedule.block_tokens is not None:
        for block in schedule.blocks.of(index).tolist():
            tokens = min(left, schedule.block_tokens)
            pieces.append(Piece("block", block, tokens))
            left -= tokens
    return [*pieces, Piece("own", index, left)] if left else pieces


def cut_rank(piece: Piece, *, size: int, seed: int, salt: str) -> int:
    """Return which of `size` places to cut at: for one salt, the first `size` numbers of a domain all differ."""
    lap, rank = divmod(piece.number, size)
    step, shift = _affine_map(seed, salt, piece.domain, lap, size)
    return (rank * step + shift) % size


def keyed_number(*parts: object) -> int:
    """Hash parts to 64 bits; equal on every machine."""
    framed = UNIT_SEPARATOR.join(str(part) for part in parts)
    return int.from_bytes(hashlib.sha256(framed.encode()).digest()[:KEY_BYTES], "little")


@lru_cache(maxsize=64)
def _affine_map(seed: int, salt: str, domain: Domain, lap: int, size: int) -> tuple[int, int]:
    step = _coprime(keyed_number(seed, salt, domain, lap, "step") % size, size)
    return step, keyed_number(seed, salt, domain, lap, "shift") % size


def _coprime(number: int, size: int) -> int:
    step = max(number, 1)
    while math.gcd(step, size) != 1:
        step += 1
    return step
