"""Traffic composed of ServeGen's clients: who sends how much how unevenly, and the mixture of their lengths.

What is not known is said by `bias_of`, beside the model: clients whose lengths are not published count as arrivals and
not in the lengths.
"""

import numpy as np
import polars as pl

from workloads.model import ClientArrivals, ComposedArrivals, QuantileLengths, TrafficModel
from workloads.readers.servegen import WINDOW_S, ServeGenWindows
from workloads.trace import TraceError

PROBABILITIES = (*np.round(np.linspace(0.0, 0.99, 100), 2).tolist(), 0.995, 0.999, 0.9995, 0.9999, 1.0)


def compose(windows: ServeGenWindows, start_s: float, duration_s: float) -> TrafficModel:
    """Compose the clients that send between two times into one model of traffic.

    A client's share is its requests (stated rate times overlap) over all; its CV is the mean of its windows' stated
    CVs, weighted by requests. Lengths are quantiles of the mixture of the clients' distributions, weighted by
    requests, each the latest in force; input and output are drawn apart, as no joint distribution is published.

    Raises:
        TraceError: nobody sends then, or no client that sends has lengths.
    """
    active = _active(windows, start_s, duration_s)
    total = float(active["requests"].sum())
    if total == 0:
        starts_s = windows.windows["window_start_s"].sort().to_list()
        raise TraceError(
            f"no client sends between {start_s:g} and {start_s + duration_s:g} s",
            advice=f"Its windows lie between {starts_s[0]} and {starts_s[-1] + WINDOW_S} s",
        )
    clients = (
        active.group_by("client_id")
        .agg(
            (pl.col("requests").sum() / total).alias("share"),
            (pl.col("cv") * pl.col("requests")).sum() / pl.col("requests").sum(),
        )
        .filter((pl.col("share") > 0) & (pl.col("cv") > 0))
        .sort("share", "client_id", descending=[True, False])
    )
    return TrafficModel(
        arrivals=ComposedArrivals(
            clients=tuple(ClientArrivals(share=min(share, 1.0), cv=cv) for _, share, cv in clients.iter_rows())
        ),
        input_tokens=_mixture(windows, active, "input_tokens"),
        output_tokens=_mixture(windows, active, "output_tokens"),
        rate_rps=total / duration_s,
        span_s=duration_s,
    )


def bias_of(windows: ServeGenWindows, start_s: float, duration_s: float) -> tuple[str, ...]:
    """Say what the composed model does not know."""
    active = _active(windows, start_s, duration_s)
    unknown = _in_force(windows.lengths, active).filter(pl.col("from_s").is_null())
    share = float(unknown["requests"].sum()) / float(active["requests"].sum()) if active.height else 0.0
    last_s = windows.lengths["window_start_s"].max()
    notes = (
        f"{share:.0%} of the requests come from {unknown['client_id'].n_unique()} clients without "
        "published lengths; lengths are those of the others, so they are biased"
        if share
        else "",
        f"lengths are published until second {last_s}; later ones are taken to stay as they were then"
        if isinstance(last_s, int) and start_s + duration_s > last_s + 6 * 3600
        else "",
        "input and output lengths are drawn apart: no joint distribution is published",
        "arrivals follow the stated rates and CVs; fitted Weibull parameters contradict their rates and are not used",
    )
    return tuple(note for note in notes if note)


def _active(windows: ServeGenWindows, start_s: float, duration_s: float) -> pl.DataFrame:
    """Return windows that overlap the time, with the `requests` that they send in it."""
    start = pl.col("window_start_s")
    overlap_s = pl.min_horizontal(start + WINDOW_S, start_s + duration_s) - pl.max_horizontal(start, start_s)
    return windows.windows.with_columns((pl.col("rate_rps") * overlap_s).alias("requests")).filter(overlap_s > 0)


def _in_force(lengths: pl.DataFrame, active: pl.DataFrame) -> pl.DataFrame:
    """Add `from_s`: since when the lengths in force in each window are, null where its client has none by then."""
    starts = lengths.select("client_id", pl.col("window_start_s").alias("from_s")).unique().sort("from_s")
    return active.sort("window_start_s").join_asof(
        starts, left_on="window_start_s", right_on="from_s", by="client_id", check_sortedness=False
    )


def _mixture(windows: ServeGenWindows, active: pl.DataFrame, kind: str) -> QuantileLengths:
    lengths = windows.lengths.filter(pl.col("kind") == kind)
    weights = (
        _in_force(lengths, active).drop_nulls("from_s").group_by("client_id", "from_s").agg(pl.col("requests").sum())
    )
    mixed = (
        lengths.join(weights, left_on=("client_id", "window_start_s"), right_on=("client_id", "from_s"))
        .group_by("tokens")
        .agg((pl.col("share") * pl.col("requests")).sum().alias("weight"))
        .filter(pl.col("weight") > 0)
        .sort("tokens")
    )
    if mixed.height == 0:
        raise TraceError(f"no client that sends has published {kind}", advice="Take another time, or another model")
    tokens, share = mixed["tokens"].to_numpy(), np.cumsum(mixed["weight"].to_numpy())
    places = np.searchsorted(share / share[-1], np.array(PROBABILITIES) - 1e-12)
    return QuantileLengths(
        probabilities=PROBABILITIES, tokens=tuple(tokens[np.minimum(places, len(tokens) - 1)].astype(float).tolist())
    )
