"""The figures of a profile that people look for first, spelled; one place for the page and the command line."""

from collections.abc import Mapping

from orchestrator.report.numbers import MISSING, number, percent
from orchestrator.report.traffic.sentences import correlation, duration
from workloads.profile.lengths.model import LengthDistribution, Lengths
from workloads.profile.model import TraceProfile


def key_figures(profile: TraceProfile) -> dict[str, str]:
    """Return the figures that people look for first, spelled, in reading order; a dash where there is none."""
    arrivals = profile.arrivals
    return {
        "requests": f"{profile.num_requests:,}" + (f" ({profile.num_failed:,} failed)" if profile.num_failed else ""),
        "span": duration(profile.span_s),
        "rate, requests/s": number(profile.rate_rps),
        "input tokens, mean / P50 / P90 / P99 / max": _lengths(profile.answered_input_tokens),
        "output tokens, mean / P50 / P90 / P99 / max": _lengths(profile.answered_output_tokens),
        "nearest family, input / output": f"{_family(profile.input_distribution)} / "
        f"{_family(profile.output_distribution)}",
        "power-law tail, input / output": f"{_tail(profile.input_distribution)} / {_tail(profile.output_distribution)}",
        "input-output rank correlation": MISSING
        if profile.dependence is None
        else correlation(profile.dependence.rank_correlation),
        "arrivals": arrivals.verdict.kind,
        "CV of gaps": number(arrivals.cv),
        "Fano factor": _by_window(arrivals.fano),
        "peak over mean": _by_window(arrivals.peak_over_mean),
        "periods": _periods(profile),
        "rate changes": f"{len(arrivals.change_points):,}",
        **_key_sharing(profile),
        **_key_people(profile),
    }


def _lengths(seen: Lengths | None) -> str:
    if seen is None:
        return MISSING
    return " / ".join(number(one) for one in (seen.mean, seen.p50, seen.p90, seen.p99, seen.max))


def _family(found: LengthDistribution | None) -> str:
    if found is None or not found.fits:
        return MISSING
    return f"{found.fits[0].family.replace('_', '-')} (KS {found.fits[0].ks:.2g})"


def _tail(found: LengthDistribution | None) -> str:
    return MISSING if found is None else found.tail.is_power_law


def _by_window(values: Mapping[str, float | None]) -> str:
    known = [f"{number(value)} at {duration(float(window))}" for window, value in values.items() if value is not None]
    return ", ".join(known) or MISSING


def _periods(profile: TraceProfile) -> str:
    if profile.spectrum is None:
        return MISSING
    return ", ".join(duration(one.period_s) for one in profile.spectrum.peaks if one.is_named) or "none named"


def _key_sharing(profile: TraceProfile) -> dict[str, str]:
    found = profile.prefix
    if found is None:
        return {}
    return {
        "input tokens reused, infinite cache": percent(found.token_reuse_ratio),
        "requests that share their first block": percent(found.shared_first_block_ratio),
    }


def _key_people(profile: TraceProfile) -> dict[str, str]:
    rows = {}
    if (sessions := profile.sessions) is not None:
        rows["sessions"] = f"{sessions.num_sessions:,}, turns P50 / P99 {number(sessions.turns.p50)} / "
        rows["sessions"] += number(sessions.turns.p99)
    if (clients := profile.clients) is not None:
        rows["clients"] = f"{clients.num_clients:,}, the busiest sends {percent(clients.top_1_share)}"
    if (found := profile.concurrency) is not None:
        rows["in flight, mean / P99 / most"] = f"{number(found.mean)} / {number(found.p99)} / {found.peak:,} "
        rows["in flight, mean / P99 / most"] += f"({found.source} service times)"
    return rows
