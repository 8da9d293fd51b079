"""What all pictures of traffic share: their form when there is nothing to draw, time axes, thinning, spelling."""

from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter
from numpy.typing import NDArray

from orchestrator.report.canvas import figure

WIDE_IN = (9.6, 3.9)
MAX_POINTS = 1200
_UNITS = ((300.0, 1.0, "s"), (3 * 3600.0, 60.0, "min"), (3 * 86400.0, 3600.0, "h"), (float("inf"), 86400.0, "days"))
_PLAIN_UNTIL = 1e4
_PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


class Absent(NamedTuple):
    """A picture that is not drawn, and why."""

    reason: str


class Picture(NamedTuple):
    """One picture: its file name without an ending, what it shows, how to read it; `figure` is None where absent."""

    name: str
    title: str
    reading: str
    figure: Figure | None
    absent: str = ""


class TimeUnit(NamedTuple):
    """The unit in which a span of time is easiest to read."""

    seconds: float
    name: str


def time_unit(span_s: float) -> TimeUnit:
    """Choose seconds, minutes, hours or days for an axis of this length."""
    seconds, name = next((seconds, name) for limit_s, seconds, name in _UNITS if span_s < limit_s)
    return TimeUnit(seconds, name)


def wide(title: str, *, height_in: float = WIDE_IN[1]) -> Figure:
    """Make a figure over the page's whole width."""
    return figure(title, size_in=(WIDE_IN[0], height_in), is_simulated=False)


def thin(size: int, limit: int = MAX_POINTS) -> NDArray[np.intp]:
    """Return at most `limit` positions of a curve of `size` points, evenly spread, its ends among them."""
    return np.unique(np.linspace(0, size - 1, min(size, limit)).round().astype(np.intp))


def short(value: float) -> str:
    """Spell a number for a tick: 0.5, 300, 7.5k, 15M."""
    if value < _PLAIN_UNTIL:
        return f"{value:,.6g}"
    scale, prefix = next((scale, prefix) for scale, prefix in _PREFIXES if value >= scale)
    return f"{value / scale:g}{prefix}"


def log_axis(axes: Axes, *, which: str) -> None:
    """Make an axis logarithmic, with ticks that are spelled out instead of powers."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    (axes.set_xscale if which == "x" else axes.set_yscale)("log")
    axis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
    axis.set_minor_formatter(NullFormatter())
