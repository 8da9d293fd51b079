"""Clients of a trace, by its own client ids: how unevenly they send, and how burstily each."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workloads.model import ClientArrivals, ComposedArrivals
from workloads.profile.arrivals.unevenness import gap_cv, resolves_gaps
from workloads.profile.people.model import Client, ClientProfile
from workloads.trace import NS_PER_S, Trace

NUM_TOP = 20
MAX_MODELLED = 200
MIN_GAPS = 20  # fewer give a CV that is mostly chance: its standard error for a Poisson client is 1 / sqrt(gaps)
MIN_CV = 0.05  # a gamma distribution needs one above 0; below, gaps are as good as equal
POISSON_CV = 1.0


def describe_clients(trace: Trace) -> ClientProfile | None:
    """Describe clients over requests that have a client id; None where there are none.

    A client's rate is its share of the requests of the trace's rate, so that rates add up. Its CV is absent where the
    time step makes gaps meaningless.
    """
    if "client_id" not in trace.rows.columns:
        return None
    rows = trace.rows.filter(pl.col("client_id").is_not_null())
    if rows.height == 0:
        return None
    _, codes, counts = np.unique(rows["client_id"].to_numpy(), return_inverse=True, return_counts=True)
    by_rank = np.argsort(-counts, kind="stable")
    ranks = np.empty(counts.size, dtype=np.int64)
    ranks[by_rank] = np.arange(counts.size)
    counts, reached = counts[by_rank], np.cumsum(counts[by_rank]) / rows.height
    cvs = _cvs(trace, rows["arrival_ns"].to_numpy(), ranks[codes])
    return ClientProfile(
        num_clients=counts.size,
        top_1_share=float(reached[0]),
        top_10_share=float(reached[min(10, counts.size) - 1]),
        num_for_half=1 + int(np.searchsorted(reached, 0.5)),
        top=_top(trace, counts, cvs),
        model=_model(counts, cvs) if _has_gaps(trace) else None,
    )


def _has_gaps(trace: Trace) -> bool:
    return trace.facts.grid_ns <= trace.facts.resolution_ns and trace.span_ns > 0


def _cvs(trace: Trace, arrival_ns: NDArray[np.int64], ranks: NDArray[np.int64]) -> list[float | None]:
    """Return the CV of each modelled client's gaps, busiest first, and last that of all others together."""
    merged = np.minimum(ranks, MAX_MODELLED)
    order = np.argsort(merged, kind="stable")
    starts = np.searchsorted(merged[order], np.arange(1, min(int(ranks.max()), MAX_MODELLED) + 1))
    return [_cv(trace, times) for times in np.split(arrival_ns[order], starts)]


def _cv(trace: Trace, arrival_ns: NDArray[np.int64]) -> float | None:
    gaps_ns = np.diff(arrival_ns)
    return gap_cv(gaps_ns) if gaps_ns.size >= MIN_GAPS and resolves_gaps(gaps_ns, trace.facts) else None


def _top(trace: Trace, counts: NDArray[np.int64], cvs: list[float | None]) -> tuple[Client, ...]:
    rate_rps = (len(trace) - 1) * NS_PER_S / trace.span_ns if trace.span_ns else None
    total = int(counts.sum())
    return tuple(
        Client(
            rank=rank,
            share=count / total,
            rate_rps=count / len(trace) * rate_rps if rate_rps is not None else None,
            cv=cv,
        )
        for rank, (count, cv) in enumerate(zip(counts[:NUM_TOP].tolist(), cvs, strict=False), start=1)
    )


def _model(counts: NDArray[np.int64], cvs: list[float | None]) -> ComposedArrivals:
    """Compose clients that each have gamma gaps; one with too few gaps for a CV counts as a Poisson process."""
    sizes = counts[:MAX_MODELLED].tolist()
    if counts.size > MAX_MODELLED:
        sizes.append(int(counts[MAX_MODELLED:].sum()))
    total = int(counts.sum())
    return ComposedArrivals(
        clients=tuple(
            ClientArrivals(share=size / total, cv=max(cv, MIN_CV) if cv is not None else POISSON_CV)
            for size, cv in zip(sizes, cvs, strict=True)
        )
    )
