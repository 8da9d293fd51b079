"""A profile as tables of words, one a topic."""

from collections.abc import Iterator
from typing import NamedTuple

from orchestrator.report.numbers import MISSING, number, percent
from orchestrator.report.traffic.sentences import duration
from workloads.profile.model import TraceProfile
from workloads.profile.people.model import Quantiles

MAX_ROWS = 40
_WHOLE = 1000


class Table(NamedTuple):
    """A table of words; `note` stands under it."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


def topic_tables(profile: TraceProfile) -> tuple[Table, ...]:
    """Return all figures by topic; a topic without evidence has no table."""
    return tuple(
        table
        for table in (
            _length_table(profile),
            *_fit_tables(profile),
            _window_table(profile),
            _autocorrelation_table(profile),
            _change_table(profile),
            _peak_table(profile),
            _cache_table(profile),
            _spread_table(profile),
            _client_table(profile),
            _flight_table(profile),
            _dropped_table(profile),
        )
        if table.rows
    )


def _length_table(profile: TraceProfile) -> Table:
    named = (
        ("input, answered requests", profile.answered_input_tokens),
        ("output, answered requests", profile.answered_output_tokens),
        ("input, all rows as recorded", profile.input_tokens),
        ("output, all rows as recorded", profile.output_tokens),
    )
    rows = tuple(
        (name, *(number(one) for one in (seen.mean, seen.min, seen.p50, seen.p90, seen.p95, seen.p99, seen.max)))
        for name, seen in named
        if seen is not None
    )
    heads = ("tokens", "mean", "min", "P50", "P90", "P95", "P99", "max")
    if not profile.num_failed:
        return Table("Lengths", heads, rows[: len(rows) // 2])
    note = "Requests that failed at the source stand with length 0 in the rows as recorded."
    return Table("Lengths", heads, rows, note)


def _parameter(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= _WHOLE else f"{value:.4g}"


def _fit_tables(profile: TraceProfile) -> Iterator[Table]:
    for side, found in (("input", profile.input_distribution), ("output", profile.output_distribution)):
        if found is None:
            continue
        rows = tuple(
            (
                fit.family.replace("_", "-"),
                ", ".join(f"{name} {_parameter(value)}" for name, value in fit.parameters.items()),
                number(fit.aic),
                f"{fit.ks:.3g}",
                number(fit.ad),
                MISSING if fit.bootstrap_p is None else f"{fit.bootstrap_p:.3g}",
            )
            for fit in found.fits
        )
        heads = ("family", "parameters", "AIC", "KS", "AD", "bootstrap p")
        sampled = (
            (f"fitted to a sample of {found.num_fitted:,}",) if rows and found.num_fitted < found.num_requests else ()
        )
        yield Table(f"Families of {side} length, nearest first", heads, rows, "; ".join((*sampled, *found.notes)))


def _window_table(profile: TraceProfile) -> Table:
    fano, peak = profile.arrivals.fano, profile.arrivals.peak_over_mean
    windows = sorted({*fano, *peak}, key=float)
    rows = tuple(
        (
            duration(float(one)),
            f"{int(profile.span_s // float(one)):,}",
            number(fano.get(one)),
            number(peak.get(one)),
        )
        for one in windows
    )
    return Table("Arrivals by window", ("window", "whole windows", "Fano factor", "peak over mean"), rows)


def _autocorrelation_table(profile: TraceProfile) -> Table:
    named = (
        ("counts in 1 s windows", "s", profile.arrivals.count_autocorrelation),
        ("gaps", "gaps", profile.arrivals.gap_autocorrelation),
    )
    rows = tuple(
        (what, f"{lag} {unit}", f"{value:.3f}")
        for what, unit, values in named
        for lag, value in values.items()
        if value is not None
    )
    return Table("Autocorrelation", ("of", "lag", "value"), rows)


def _change_table(profile: TraceProfile) -> Table:
    points = profile.arrivals.change_points
    rows = tuple(
        (duration(one.at_s), number(one.rate_before_rps), number(one.rate_after_rps)) for one in points[:MAX_ROWS]
    )
    note = f"The first {MAX_ROWS} of {len(points)}." if len(points) > MAX_ROWS else ""
    return Table("Changes of the rate", ("at", "before, requests/s", "after, requests/s"), rows, note)


def _peak_table(profile: TraceProfile) -> Table:
    found = profile.spectrum
    rows = tuple(
        (
            duration(one.period_s),
            number(one.density),
            f"{one.false_alarm_p:.2g}",
            MISSING if one.drift_false_alarm_p is None else f"{one.drift_false_alarm_p:.2g}",
            number(one.num_periods_seen),
            "yes" if one.is_named else "no",
        )
        for one in (found.peaks[:MAX_ROWS] if found is not None else ())
    )
    note = "; ".join(found.notes) if found is not None else ""
    return Table(
        "Peaks of the spectrum",
        ("period", "density", "p, Poisson", "p, drifting rate", "periods seen", "named"),
        rows,
        note,
    )


def _cache_table(profile: TraceProfile) -> Table:
    found = profile.prefix
    if found is None:
        return Table("Prefix reuse", (), ())
    rows = (
        *((f"{one.capacity_tokens:,} tokens", percent(one.block_hit_ratio)) for one in found.lru),
        ("infinite, blocks", percent(found.block_reuse_ratio)),
        ("infinite, blocks but a prompt's first", percent(found.block_reuse_ratio_without_first)),
        ("infinite, tokens", percent(found.token_reuse_ratio)),
    )
    of = f"{found.num_blocks:,} blocks of {found.block_tokens} tokens, {found.num_distinct_blocks:,} of them distinct."
    share = found.lru_sampled_ratio
    sampled = () if share is None else (f"Limited caches: on {percent(share)} of the distinct blocks, taken by hash.",)
    note = " ".join((of, *sampled))
    return Table("Prefix reuse", ("cache", "reused"), rows, note)


def _spread_table(profile: TraceProfile) -> Table:
    sessions = profile.sessions
    if sessions is None:
        return Table("Sessions", (), ())
    named: tuple[tuple[str, Quantiles | None], ...] = (
        ("turns", sessions.turns),
        ("time to think, s", sessions.think_s),
    )
    rows = tuple(
        (name, *(number(one) for one in (seen.mean, seen.p50, seen.p90, seen.p99, seen.max)))
        for name, seen in named
        if seen is not None
    )
    note = "Times to think include the answer: service times are unknown." if sessions.is_think_from_arrivals else ""
    return Table("Sessions", ("of", "mean", "P50", "P90", "P99", "max"), rows, note)


def _client_table(profile: TraceProfile) -> Table:
    top = profile.clients.top[:MAX_ROWS] if profile.clients is not None else ()
    rows = tuple((str(one.rank), percent(one.share), number(one.rate_rps), number(one.cv)) for one in top)
    return Table("Busiest clients", ("rank", "share of requests", "requests/s", "CV of gaps"), rows)


def _flight_table(profile: TraceProfile) -> Table:
    found = profile.concurrency
    if found is None:
        return Table("Requests in flight", (), ())
    figures = (number(found.mean), number(found.p50), number(found.p99), f"{found.peak:,}", duration(found.peak_at_s))
    stated = () if found.latency_model is None else (f"Service times as stated: {found.latency_model}",)
    heads = ("service times", "mean", "P50", "P99", "most", "most at")
    return Table("Requests in flight", heads, ((found.source, *figures),), "; ".join((*stated, *found.notes)))


def _dropped_table(profile: TraceProfile) -> Table:
    rows = tuple((reason, f"{count:,}") for reason, count in profile.dropped.items())
    return Table("Rows that are left out", ("reason", "rows"), rows)
