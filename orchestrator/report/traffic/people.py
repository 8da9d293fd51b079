"""Who sends and how many at once: shares of clients, requests in flight. Clients are ranks; no identity is drawn."""

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from orchestrator.report.canvas import GREY, PALETTE, from_zero, style
from orchestrator.report.traffic.picture import Absent, thin, time_unit, wide
from workloads.profile.model import TraceProfile
from workloads.profile.people.model import ClientProfile, Concurrency
from workloads.trace import NS_PER_S, Trace

MAX_BARS = 15
NUM_BINS = 600
MANY_BARS = 8
Ints = NDArray[np.int64]


def draw_clients(profile: TraceProfile, trace: Trace | None) -> Figure | Absent:
    """Draw the shares of the busiest clients, and the Lorenz curve where the rows are at hand."""
    clients = profile.clients
    if clients is None:
        return Absent("the trace's format names no clients")
    counts = _client_counts(trace)
    with style():
        made = wide(f"Who sends · n = {profile.num_requests:,} requests, {clients.num_clients:,} clients")
        panels = list(made.subplots(1, 1 if counts is None else 2, squeeze=False)[0])
        _draw_busiest(panels[0], clients)
        if counts is not None:
            _draw_lorenz(panels[1], counts)
    return made


def draw_concurrency(profile: TraceProfile, trace: Trace | None) -> Figure | Absent:
    """Draw requests in flight over time, from recorded service times."""
    found = profile.concurrency
    if found is None:
        return Absent("service times are neither recorded nor stated, so requests in flight are unknown")
    if found.source == "stated":
        return Absent("service times were stated and not recorded; the key figures have what follows from them")
    if trace is None or "service_ns" not in trace.rows.columns:
        return Absent("single service times are not at hand; profile the trace to see them")
    known = trace.answered().rows.select("arrival_ns", "service_ns")
    in_flight, edges_s = busiest_in_bins(known["arrival_ns"].to_numpy(), known["service_ns"].to_numpy())
    unit = time_unit(float(edges_s[-1]))
    with style():
        made = wide(f"Requests in flight · n = {known.height:,} requests with a recorded service time")
        axes = made.subplots()
        label = f"most in flight, in bins of {edges_s[1] - edges_s[0]:.3g} s"
        axes.stairs(in_flight, edges_s / unit.seconds, color=PALETTE[0], baseline=None, label=label)
        _draw_marks(axes, found)
        axes.set_xlabel(f"time since the first request ({unit.name})")
        axes.set_ylabel("requests in flight")
        axes.set_xlim(0, edges_s[-1] / unit.seconds)
        from_zero(axes)
        made.legend(loc="outside lower left", ncols=4)
    return made


def busiest_in_bins(arrival_ns: Ints, service_ns: Ints) -> tuple[Ints, NDArray[np.float64]]:
    """Return the most requests in flight in each of 600 bins, and the bins' edges in seconds.

    A request is in flight from its arrival until just before arrival plus service time.
    """
    moments = np.concatenate((arrival_ns + service_ns, arrival_ns))
    steps = np.repeat(np.asarray([-1, 1]), arrival_ns.size)
    order = np.argsort(moments, kind="stable")  # at equal moments ends come first
    level = np.cumsum(steps[order])
    edges = np.linspace(0, max(int(moments.max()), 1), NUM_BINS + 1)
    last = np.searchsorted(moments[order], edges[1:], side="left")
    first = np.concatenate(([0], last[:-1]))
    begins_later = moments[order][first.clip(max=moments.size - 1)] > edges[:-1]
    carried = np.where((first > 0) & begins_later, level[first - 1], 0)
    spans = zip(first, last, carried, strict=True)
    peaks = [max(int(held), int(level[begin:end].max(initial=0))) for begin, end, held in spans]
    return np.asarray(peaks), edges / NS_PER_S


def _client_counts(trace: Trace | None) -> Ints | None:
    if trace is None or "client_id" not in trace.rows.columns:
        return None
    known = trace.rows.filter(pl.col("client_id").is_not_null())
    return known.group_by("client_id").len()["len"].sort().to_numpy().astype(np.int64) if known.height else None


def _draw_busiest(axes: Axes, clients: ClientProfile) -> None:
    shown = clients.top[:MAX_BARS]
    bars = axes.bar([str(one.rank) for one in shown], [100 * one.share for one in shown], color=PALETTE[0])
    size = 6.5 if len(shown) > MANY_BARS else 8
    axes.bar_label(bars, ["" if one.cv is None else f"CV\n{one.cv:.2g}" for one in shown], fontsize=size, padding=2)
    axes.margins(y=0.18)
    axes.set_title("busiest clients, with the CV of their gaps")
    axes.set_xlabel("client, by rank")
    axes.set_ylabel("share of requests (%)")


def _draw_lorenz(axes: Axes, counts: Ints) -> None:
    shares = np.concatenate(([0.0], counts.cumsum() / counts.sum()))
    ranks = np.linspace(0, 1, shares.size)
    kept = thin(shares.size)
    axes.plot(100 * ranks[kept], 100 * shares[kept], color=PALETTE[0], label="measured")
    axes.plot([0, 100], [0, 100], color=GREY, ls="--", lw=1.2, label="all clients equal")
    axes.set_title("Lorenz curve")
    axes.set_xlabel("clients, quietest first (%)")
    axes.set_ylabel("share of requests (%)")
    axes.legend(loc="upper left")


def _draw_marks(axes: Axes, found: Concurrency) -> None:
    marks = (("mean", found.mean), ("P50", found.p50), ("P99", found.p99))
    for (name, value), colour in zip(marks, PALETTE[1:], strict=False):
        axes.axhline(value, color=colour, ls="--", lw=1.1, label=f"{name} {value:.3g}")
