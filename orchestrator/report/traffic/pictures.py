"""All pictures of a trace's traffic, by name, and how they become bytes."""

import base64
from collections.abc import Callable, Mapping
from typing import NamedTuple

from matplotlib.figure import Figure

from orchestrator.report.canvas import render, style
from orchestrator.report.traffic.lengths import draw_ccdf, draw_quantiles
from orchestrator.report.traffic.people import draw_clients, draw_concurrency
from orchestrator.report.traffic.picture import Absent, Picture
from orchestrator.report.traffic.rate import draw_rate
from orchestrator.report.traffic.sharing import draw_reuse
from orchestrator.report.traffic.spectrum import draw_spectrum
from orchestrator.report.traffic.unevenness import draw_fano, draw_gaps
from workloads.profile.model import TraceProfile
from workloads.trace import Trace

Draw = Callable[[TraceProfile, Trace | None], Figure | Absent]


class Kind(NamedTuple):
    """One kind of picture: its file name, what it shows, how to read it, and who draws it."""

    name: str
    title: str
    reading: str
    draw: Draw


KINDS = (
    Kind(
        "length_ccdf",
        "How long requests are",
        "At each length, the share of requests at least so long; both axes are logarithmic. A straight fall is a "
        "power law's, a bend a lognormal's; a step down at a dotted line is a cap. Where a fit leaves the black "
        "line, it is wrong there. At most four families are drawn, nearest by AIC.",
        draw_ccdf,
    ),
    Kind(
        "length_quantiles",
        "Measured against fitted lengths",
        "Each point is one quantile: fitted across, measured up. On the grey line the nearest family is right; "
        "above it real requests are longer than it says.",
        draw_quantiles,
    ),
    Kind(
        "arrival_rate",
        "Arrival rate over time",
        "Counts a bin. If the rate were constant and arrivals independent, one bin in twenty would leave the grey "
        "band.",
        draw_rate,
    ),
    Kind(
        "gaps",
        "Gaps between requests",
        "Independent arrivals at one rate follow the dashed line. A tail above it is silence between bursts, or a "
        "rate that changes; the picture cannot tell which, the verdict can.",
        draw_gaps,
    ),
    Kind(
        "fano",
        "Burstiness over time scales",
        "Variance over mean of the counts in windows. A Poisson process stays in the band. A level line above 1 "
        "is burstiness of the gaps, a rising one a rate that changes on that time scale.",
        draw_fano,
    ),
    Kind(
        "spectrum",
        "Spectrum of the arrival counts",
        "Power by period. A Poisson process is flat inside the band. A peak is named only above the dashed line, "
        "above what a drifting rate makes, and seen at least three times; power that rises to the right is drift.",
        draw_spectrum,
    ),
    Kind(
        "prefix_reuse",
        "Prefix reuse over cache size",
        "What share of prompt blocks a cache of that size would have held. Where the curve is flat, more memory "
        "buys nothing.",
        draw_reuse,
    ),
    Kind(
        "clients",
        "Who sends",
        "Left: shares of the busiest clients. The further a Lorenz curve hangs under the diagonal, the fewer "
        "clients make the traffic.",
        draw_clients,
    ),
    Kind(
        "concurrency",
        "Requests in flight",
        "How many requests were being served at once, by the recorded service times of the service that wrote the "
        "trace.",
        draw_concurrency,
    ),
)


def draw_all(profile: TraceProfile, trace: Trace | None) -> tuple[Picture, ...]:
    """Draw every picture in reading order; one without evidence has no figure and says why.

    Without the trace's rows, pictures are drawn from the profile's own tables as far as these go.
    """
    return tuple(_draw(kind, profile, trace) for kind in KINDS)


def draw_traffic(profile: TraceProfile, trace: Trace | None) -> dict[str, Figure]:
    """Draw the pictures for which there is evidence, by name."""
    return {one.name: one.figure for one in draw_all(profile, trace) if one.figure is not None}


def traffic_pngs(profile: TraceProfile, trace: Trace | None) -> Mapping[str, bytes]:
    """Draw the pictures as PNG, by file name."""
    with style():
        return {f"{name}.png": render(drawn, "png") for name, drawn in draw_traffic(profile, trace).items()}


def to_inline(drawn: Figure) -> str:
    """Turn a figure into a data address that a page holds within itself."""
    with style():
        return f"data:image/svg+xml;base64,{base64.b64encode(render(drawn, 'svg')).decode()}"


def _draw(kind: Kind, profile: TraceProfile, trace: Trace | None) -> Picture:
    drawn = kind.draw(profile, trace)
    if isinstance(drawn, Absent):
        return Picture(kind.name, kind.title, kind.reading, None, drawn.reason)
    return Picture(kind.name, kind.title, kind.reading, drawn)
