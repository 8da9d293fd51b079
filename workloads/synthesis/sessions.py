"""Conversations made from a model: turns in order, time to think between them, a context that grows.

Service times are not known here, so a turn follows its predecessor after the time to think alone.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloads.blocks import BlockIds, make_blocks, offsets_of
from workloads.model import SessionModel, SharedPrompts, TrafficModel
from workloads.requests import Requests
from workloads.streams import uniforms
from workloads.synthesis.lengths import INT32_MAX, draw_lengths, draw_values, lengths_at, mean_of
from workloads.synthesis.parts import Part
from workloads.synthesis.shared_prompts import NOT_SHARED, choose_prompts

SESSION_BLOCK_TOKENS = 64
LEAD_TURNS = 0.99
NS_PER_S = 1_000_000_000


class Turns(NamedTuple):
    """All turns, session by session: the session of each, and the place of each session's first turn."""

    session: NDArray[np.int64]
    first: NDArray[np.int64]


def mean_turns(sessions: SessionModel) -> float:
    """Return the mean number of requests of a session."""
    return mean_of(sessions.turns, lowest=1)


def lead_s(sessions: SessionModel) -> float:
    """Return how long before the load sessions must begin, so that those of long ago still have turns in it."""
    turns = float(lengths_at(sessions.turns, np.array([LEAD_TURNS]))[0])
    return max(0.0, turns - 1) * mean_of(sessions.think_s)


def draw_sessions(
    model: TrafficModel,
    sessions: SessionModel,
    start_ns: NDArray[np.int64],
    *,
    end_ns: int,
    seed: int,
    share_factor: float = 1.0,
    scope: str = "",
) -> Part:
    """Draw the turns in [0, end) of sessions that begin at `start_ns`, in order of time.

    Prompts hold the whole context before, and are cut at the model's longest. Full blocks of 64 tokens of a session's
    context have ids of their own; those of a shared prompt, if it is at least one block, come first.
    """
    turns = _count_turns(sessions, len(start_ns), seed=seed, scope=scope)
    count = len(turns.session)
    begun = model if sessions.first_tokens is None else model.model_copy(update={"input_tokens": sessions.first_tokens})
    first_tokens, output_tokens = draw_lengths(begun, count, seed=seed, scope=scope)
    new = np.maximum(draw_values(sessions.new_tokens, count, "session_new_tokens", seed=seed, scope=scope), 1)
    added = np.rint(new).astype(np.int64)
    added[1:] += output_tokens[:-1]
    added[turns.first] = first_tokens[turns.first]
    prompts = np.minimum(_sum_inside(added, turns), min(sessions.max_context_tokens, INT32_MAX)).astype(np.int32)
    think = np.maximum(draw_values(sessions.think_s, count, "session_think", seed=seed, scope=scope), 0)
    think[turns.first] = 0
    times = start_ns[turns.session] + _sum_inside(np.rint(think * NS_PER_S).astype(np.int64), turns)
    rows = np.argsort(times, kind="stable")
    rows = rows[np.searchsorted(times[rows], 0) : np.searchsorted(times[rows], end_ns)]
    heads, num_common_ids = _heads(model, len(start_ns), seed=seed, share_factor=share_factor, scope=scope)
    blocks_at_most = np.maximum.reduceat(prompts, turns.first).astype(np.int64) // SESSION_BLOCK_TOKENS
    own = num_common_ids + offsets_of(blocks_at_most)
    session = turns.session[rows]
    blocks = _blocks(prompts[rows], heads[session], own[session])
    return Part(
        times[rows],
        Requests(prompts[rows], output_tokens[rows], blocks, SESSION_BLOCK_TOKENS, session),
        num_common_ids,
    )


def _count_turns(sessions: SessionModel, count: int, *, seed: int, scope: str) -> Turns:
    drawn = lengths_at(sessions.turns, uniforms(seed, "session_turns", count, scope=scope))
    turns = np.maximum(np.rint(drawn), 1).astype(np.int64)
    return Turns(np.repeat(np.arange(count), turns), offsets_of(turns)[:-1])


def _sum_inside(values: NDArray[np.int64], turns: Turns) -> NDArray[np.int64]:
    total = np.cumsum(values)
    before = total[turns.first] - values[turns.first]
    return np.asarray(total - before[turns.session])


def _heads(
    model: TrafficModel, count: int, *, seed: int, share_factor: float, scope: str
) -> tuple[NDArray[np.int64], int]:
    """Return each session's shared prompt as (number, blocks) columns, and how many ids such prompts take."""
    if not isinstance(model.prefix, SharedPrompts):
        return np.zeros((count, 2), dtype=np.int64), 0
    num_blocks = model.prefix.tokens // SESSION_BLOCK_TOKENS
    choices = choose_prompts(model.prefix, count, seed=seed, share_factor=share_factor, scope=scope)
    heads = np.stack([np.maximum(choices, 0) * num_blocks, (choices != NOT_SHARED) * num_blocks], axis=1)
    return heads.astype(np.int64), model.prefix.num_prefixes * num_blocks


def _blocks(prompts: NDArray[np.int32], heads: NDArray[np.int64], own: NDArray[np.int64]) -> BlockIds:
    """Give each prompt ids from `own` on, but for those of its head: columns of first id and number of blocks."""
    counts = prompts.astype(np.int64) // SESSION_BLOCK_TOKENS
    offsets = offsets_of(counts)
    place = np.arange(offsets[-1]) - np.repeat(offsets[:-1], counts)
    is_common = place < np.repeat(heads[:, 1], counts)
    return make_blocks(offsets, place + np.where(is_common, np.repeat(heads[:, 0], counts), np.repeat(own, counts)))
