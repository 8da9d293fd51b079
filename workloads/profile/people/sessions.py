"""Conversations of a trace, by its own session ids: how many turns, how long between them, how the context grows."""

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workloads.model import SessionModel
from workloads.profile.people.model import SessionProfile
from workloads.profile.people.quantiles import fit_quantiles, summarise
from workloads.trace import NS_PER_S, Trace

MIN_GROWING_RATIO = 0.5  # of later turns hold the context before them; below, prompts are no growing conversations


class _Turns(NamedTuple):
    """Figures of each session's turns after the first, and how many turns each session has."""

    per_session: NDArray[np.float64]
    gap_s: NDArray[np.float64]
    is_served: NDArray[np.bool_]
    new_tokens: NDArray[np.int64]


def describe_sessions(trace: Trace) -> SessionProfile | None:
    """Describe sessions over answered requests that have a session id; None where there are none.

    Think time is the gap between arrivals of consecutive turns less the earlier one's service time where that is
    recorded, at least 0 (a turn that was sent before the answer had ended). A trace without times has neither it
    nor a model.
    """
    if "session_id" not in trace.rows.columns:
        return None
    rows = trace.answered().rows.filter(pl.col("session_id").is_not_null())
    if rows.height == 0:
        return None
    turns = _turns(rows.sort("session_id", "arrival_ns", maintain_order=True))
    has_times = trace.span_ns > 0
    return SessionProfile(
        num_sessions=turns.per_session.size,
        multi_turn_ratio=float(np.mean(turns.per_session > 1)),
        turns=summarise(turns.per_session),
        think_s=summarise(turns.gap_s) if has_times and turns.gap_s.size else None,
        is_think_from_arrivals=not (turns.gap_s.size and bool(turns.is_served.all())),
        model=_model(turns, rows) if has_times else None,
    )


def _turns(rows: pl.DataFrame) -> _Turns:
    is_next = (rows["session_id"] == rows["session_id"].shift(1)).fill_null(value=False).to_numpy()
    later = np.flatnonzero(is_next)
    arrival_ns = rows["arrival_ns"].to_numpy()
    service = rows["service_ns"] if "service_ns" in rows.columns else pl.Series([None] * rows.height, dtype=pl.Int64)
    service_ns, is_served = service.fill_null(0).to_numpy(), service.is_not_null().to_numpy()
    inputs, outputs = (rows[name].to_numpy().astype(np.int64) for name in ("input_tokens", "output_tokens"))
    gap_ns = np.maximum(arrival_ns[later] - arrival_ns[later - 1] - service_ns[later - 1], 0)
    return _Turns(
        per_session=np.diff(np.append(np.flatnonzero(~is_next), rows.height)).astype(np.float64),
        gap_s=gap_ns / NS_PER_S,
        is_served=is_served[later - 1],
        new_tokens=inputs[later] - inputs[later - 1] - outputs[later - 1],
    )


def _model(turns: _Turns, rows: pl.DataFrame) -> SessionModel | None:
    """Fit sessions whose context grows; None for single turns, or where most prompts drop what went before."""
    grows = turns.new_tokens > 0
    if turns.new_tokens.size == 0 or grows.mean() < MIN_GROWING_RATIO:
        return None
    longest = rows.select((pl.col("input_tokens").cast(pl.Int64) + pl.col("output_tokens")).max()).item()
    return SessionModel(
        turns=fit_quantiles(turns.per_session),
        think_s=fit_quantiles(turns.gap_s),
        new_tokens=fit_quantiles(turns.new_tokens[grows].astype(np.float64)),
        max_context_tokens=int(longest),
    )
