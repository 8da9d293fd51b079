"""The look of all plots: palette, panels, shading, and how a figure becomes bytes. Knows no study."""

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

Format = Literal["png", "svg"]

# Okabe & Ito (2008), Color Universal Design: told apart with every common kind of colour blindness. Yellow is left out.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
GREY = "#8a8a8a"
SHADE = "#56B4E9"
DPI = 110

_STYLE: dict[Any, Any] = {  # Matplotlib types its keys as one long literal
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e3e3e3",
    "grid.linewidth": 0.8,
    "axes.axisbelow": True,
    "lines.linewidth": 1.6,
    "lines.markersize": 5,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "svg.hashsalt": "seatrial",
    "svg.fonttype": "path",
}


@contextmanager
def style() -> Iterator[None]:
    """Apply the look to figures made inside."""
    with mpl.rc_context(_STYLE):
        yield


def figure(title: str, *, size_in: tuple[float, float], is_simulated: bool) -> Figure:
    """Make a figure; what comes from the simulated engine says so in its title."""
    made = Figure(figsize=size_in, layout="constrained", dpi=DPI)
    FigureCanvasAgg(made)
    text = f"SIMULATED ENGINE · {title}" if is_simulated else title
    made.suptitle(text, x=0.01, ha="left", fontsize=11, color=PALETTE[1] if is_simulated else "black")
    return made


def render(made: Figure, fmt: Format) -> bytes:
    """Turn a figure into bytes; equal figures give equal bytes."""
    buffer = io.BytesIO()
    made.savefig(buffer, format=fmt, metadata={"Date": None} if fmt == "svg" else {"Software": None})
    return buffer.getvalue()


def gaps(values: Sequence[float | None]) -> list[float]:
    """Turn missing values into NaN, which a line leaves out instead of bridging to zero."""
    return [float("nan") if value is None else value for value in values]


def from_zero(axes: Axes) -> None:
    """Begin the value axis at zero, so that lengths may be compared, and leave room above."""
    _, top = axes.get_ylim()
    axes.set_ylim(0, top if top > 0 else 1)
