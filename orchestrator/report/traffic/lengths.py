"""Pictures of lengths: how many requests are at least so long, and measured quantiles against the nearest family."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy import special

from orchestrator.report.canvas import GREY, PALETTE, style
from orchestrator.report.numbers import number
from orchestrator.report.traffic.picture import Absent, log_axis, wide
from orchestrator.report.traffic.samples import Floats, LengthSample, length_samples
from workloads.model.families import quantile, sf
from workloads.profile.lengths.model import Fit
from workloads.profile.model import TraceProfile
from workloads.trace import Trace

MAX_FITS = 4
MAX_CAPS = 3
NUM_QUANTILES = 240
SHORTEST = 0.5  # what rounds to no token at all is not drawn
NAMED_QUANTILES = (0.5, 0.9, 0.99)
HEIGHT_IN = 4.6
_DASHES: tuple[Any, ...] = ("-", (0, (6, 2)), (0, (2, 1)), (0, (6, 2, 1, 2)))
_NO_LENGTHS = Absent("no request was answered, so there are no lengths")


def draw_ccdf(profile: TraceProfile, trace: Trace | None) -> Figure | Absent:
    """Draw the share of requests at least so long, log-log, with the four nearest fits and the caps."""
    samples = length_samples(profile, trace)
    if not samples:
        return _NO_LENGTHS
    with style():
        made = wide(_title("How long requests are", samples), height_in=HEIGHT_IN)
        for axes, sample in zip(_panels(made, len(samples)), samples, strict=True):
            _draw_survival(axes, sample)
    return made


def draw_quantiles(profile: TraceProfile, trace: Trace | None) -> Figure | Absent:
    """Draw measured quantiles against those of the nearest family; on the diagonal both agree."""
    samples = length_samples(profile, trace)
    fitted = tuple(one for one in samples if one.distribution.fits)
    if not fitted:
        return Absent("no family was fitted to the lengths") if samples else _NO_LENGTHS
    with style():
        made = wide(_title("Measured against fitted lengths (Q-Q)", fitted), height_in=HEIGHT_IN)
        for axes, sample in zip(_panels(made, len(fitted)), fitted, strict=True):
            _draw_against_fit(axes, sample, sample.distribution.fits[0])
    return made


def _panels(made: Figure, count: int) -> list[Axes]:
    return list(made.subplots(1, count, squeeze=False)[0])


def _title(what: str, samples: tuple[LengthSample, ...]) -> str:
    return f"{what} · n = {samples[0].num_requests:,} answered requests"


def _draw_survival(axes: Axes, sample: LengthSample) -> None:
    is_shown = np.flatnonzero(sample.tokens > 0)
    kept = is_shown[_spread(sample.tokens[is_shown])]
    for fit, colour, dashes in zip(sample.distribution.fits[:MAX_FITS], PALETTE[1:], _DASHES, strict=False):
        tokens, survival = _fit_survival(fit, float(sample.tokens[-1]))
        axes.plot(tokens, 100 * survival, color=colour, linestyle=dashes, label=_fit_label(fit))
    mark = "o" if kept.size == 1 else ""  # one length makes no line
    percent = 100 * (1 - sample.shorter[kept])
    axes.plot(sample.tokens[kept], percent, marker=mark, color="black", lw=2.2, label="measured")
    for cap in sorted(sample.distribution.caps, key=lambda one: -one.num_requests)[:MAX_CAPS]:
        label = f"cap at {cap.tokens:,} tokens ({number(100 * cap.share)} % of requests)"
        axes.axvline(cap.tokens, color="black", lw=1.2, linestyle=":", label=label)
    for which in ("x", "y"):
        log_axis(axes, which=which)
    shortest = float(sample.tokens[is_shown[0]]) if is_shown.size else 1.0
    axes.set_xlim(max(1.0, shortest * 0.8), max(2.0, float(sample.tokens[-1]) * 1.6))
    axes.set_ylim(50 / sample.num_requests, 150)
    axes.set_title(f"{sample.side} length")
    axes.set_xlabel(f"{sample.side} tokens" + _zeros(sample))
    axes.set_ylabel("requests at least so long (%)")
    axes.legend(loc="lower left", fontsize=7.5)


def _zeros(sample: LengthSample) -> str:
    share = float(sample.up_to[0]) if sample.tokens[0] <= 0 else 0.0
    return f" ({number(100 * share)} % of requests have 0)" if share else ""


def _spread(tokens: Floats) -> Floats:
    """Keep points evenly on the log axis: each length that is the first in its step, and the longest."""
    if tokens.size == 0:
        return np.zeros(0, dtype=np.intp)
    steps = np.geomspace(tokens[0], max(tokens[-1], tokens[0] + 1), 800)
    return np.unique(np.append(np.searchsorted(tokens, steps).clip(max=tokens.size - 1), tokens.size - 1))


def _fit_survival(fit: Fit, longest: float) -> tuple[Floats, Floats]:
    """Return lengths and the share of requests that the fit sees at least so long; it is rounded to whole tokens."""
    tokens = np.geomspace(1, max(2.0, longest * 2), 400)
    return tokens, sf(fit.family, fit.parameters, tokens - 0.5)


def _fit_label(fit: Fit) -> str:
    return f"{fit.family.replace('_', '-')} (KS {fit.ks:.2g})"


def _draw_against_fit(axes: Axes, sample: LengthSample, fit: Fit) -> None:
    edge = float(special.logit(1 - 0.5 / sample.num_requests)) if sample.num_requests > 1 else 0.0
    probabilities = special.expit(np.linspace(-edge, edge, NUM_QUANTILES))
    expected = np.asarray(quantile(fit.family, fit.parameters, probabilities))
    measured = sample.at(probabilities)
    is_shown = (expected > 0) & (measured > 0)
    axes.plot(expected[is_shown], measured[is_shown], "o", color=PALETTE[0], ms=3, label="quantiles")
    _name_quantiles(axes, sample, fit)
    lengths = np.concatenate((expected[is_shown], measured[is_shown])) if is_shown.any() else np.ones(1)
    ends = (max(lengths.min() * 0.8, SHORTEST), lengths.max() * 1.25)
    axes.plot(ends, ends, color=GREY, lw=1.2, label="equal")
    for cap in sample.distribution.caps[:MAX_CAPS]:
        axes.axhline(cap.tokens, color="black", lw=1.2, linestyle=":", label=f"cap at {cap.tokens:,}")
    for which in ("x", "y"):
        log_axis(axes, which=which)
    axes.set_xlim(ends)
    axes.set_ylim(ends)
    axes.set_title(f"{sample.side} length against {_fit_label(fit)}")
    axes.set_xlabel(f"fitted {sample.side} tokens")
    axes.set_ylabel(f"measured {sample.side} tokens")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=4, fontsize=7.5)


def _name_quantiles(axes: Axes, sample: LengthSample, fit: Fit) -> None:
    named = np.asarray(NAMED_QUANTILES)
    expected, measured = np.asarray(quantile(fit.family, fit.parameters, named)), sample.at(named)
    axes.plot(expected, measured, "s", color=PALETTE[1], ms=6, label="P50, P90, P99")
