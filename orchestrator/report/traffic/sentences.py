"""A profile in words: what the traffic is, figure by figure. States what was measured and adds no judgement."""

from collections.abc import Iterator

from orchestrator.report.numbers import number, percent
from workloads.profile.lengths.model import LengthDistribution, Lengths
from workloads.profile.model import TraceProfile, Trait

_MINUTE_S = 60
_HOUR_S = 3600
_DAY_S = 86400


def duration(seconds: float) -> str:
    """Spell a length of time in its two largest units."""
    if seconds < 2 * _MINUTE_S:
        return f"{number(seconds)} s"
    if seconds < 2 * _HOUR_S:
        minutes, rest_s = divmod(round(seconds), _MINUTE_S)
        return _joined(minutes, "min", rest_s, "s")
    hours, minutes = divmod(round(seconds / _MINUTE_S), _HOUR_S // _MINUTE_S)
    if seconds < 2 * _DAY_S:
        return _joined(hours, "h", minutes, "min")
    days, hours = divmod(round(seconds / _HOUR_S), _DAY_S // _HOUR_S)
    return _joined(days, "days", hours, "h")


def correlation(value: float) -> str:
    """Spell a correlation with three digits; what rounds to zero has no sign."""
    return f"{round(value, 3) + 0.0:.3f}"


def _joined(large: int, large_unit: str, small: int, small_unit: str) -> str:
    return f"{large} {large_unit}" + (f" {small} {small_unit}" if small else "")


def opening(profile: TraceProfile) -> str:
    """Say how many requests came in which time, and from which format they were read."""
    rate = "all at one instant" if profile.rate_rps is None else f"{number(profile.rate_rps)} requests/s"
    failed = f"; {profile.num_failed:,} failed at the source" if profile.num_failed else ""
    dropped = sum(profile.dropped.values())
    left_out = f"; {dropped:,} rows of the file are left out" if dropped else ""
    count = f"{profile.num_requests:,} request" + ("" if profile.num_requests == 1 else "s")
    return f"{count} in {duration(profile.span_s)} ({rate}), read as {profile.format}{failed}{left_out}."


def describe(profile: TraceProfile) -> list[str]:
    """Say in sentences what was found, in the order in which people ask."""
    return [
        *_of_lengths("Prompts", profile.answered_input_tokens, profile.input_distribution),
        *_of_lengths("Answers", profile.answered_output_tokens, profile.output_distribution),
        *_of_dependence(profile),
        *_of_periods(profile),
        *_of_sharing(profile),
        *_of_people(profile),
    ]


def trait_figures(trait: Trait) -> str:
    """Spell the figures that triggered a trait."""
    return ", ".join(f"{name.replace('_', ' ')} = {number(value)}" for name, value in trait.figures.items())


def advice(trait: Trait) -> str:
    """Say what a trait rests on and what to look at first."""
    return f"{trait.name} ({trait_figures(trait)}): look first at {trait.look_at}; kind of engine: {trait.engine_kind}"


def _of_lengths(what: str, seen: Lengths | None, distribution: LengthDistribution | None) -> Iterator[str]:
    if seen is None or distribution is None:
        return
    yield (
        f"{what}: median {number(seen.p50)} tokens, mean {number(seen.mean)}, P99 {number(seen.p99)}, "
        f"longest {seen.max:,}."
    )
    if distribution.fits:
        nearest = distribution.fits[0]
        chance = "" if nearest.bootstrap_p is None else f", bootstrap p {nearest.bootstrap_p:.2g}"
        family = nearest.family.replace("_", "-")
        yield f"{what}: the nearest family is {family}, at a KS distance of {nearest.ks:.2g}{chance}."
    for cap in distribution.caps:
        yield f"{what}: {cap.num_requests:,} requests ({percent(cap.share)}) were cut at {cap.tokens:,} tokens."
    yield f"{what}: is the tail a power law? {distribution.tail.is_power_law}: {distribution.tail.reason.rstrip('.')}."


def _of_dependence(profile: TraceProfile) -> Iterator[str]:
    found = profile.dependence
    if found is not None:
        yield (
            f"Prompt and answer lengths have a rank correlation of {correlation(found.rank_correlation)} "
            f"(95 % between {correlation(found.low)} and {correlation(found.high)})."
        )


def _of_periods(profile: TraceProfile) -> Iterator[str]:
    found = profile.spectrum
    if found is None:
        return
    named = [one for one in found.peaks if one.is_named]
    for one in named:
        yield f"Arrivals repeat every {duration(one.period_s)}, seen {number(one.num_periods_seen)} times."
    if not named:
        yield "No period is named: none stands above chance and was seen three times."


def _of_sharing(profile: TraceProfile) -> Iterator[str]:
    found = profile.prefix
    if found is None:
        return
    yield (
        f"With an infinite cache {percent(found.token_reuse_ratio)} of input tokens would be reused; "
        f"{percent(found.shared_first_block_ratio)} of requests share their first block with another."
    )
    if found.reuse_interval_p50_s is not None:
        yield f"Half of the reused blocks come back within {duration(found.reuse_interval_p50_s)}."


def _of_people(profile: TraceProfile) -> Iterator[str]:
    sessions, clients, concurrency = profile.sessions, profile.clients, profile.concurrency
    if sessions is not None:
        yield (
            f"{sessions.num_sessions:,} sessions, {percent(sessions.multi_turn_ratio)} of more than one turn; "
            f"P90 {number(sessions.turns.p90)} turns."
        )
    if clients is not None:
        yield (
            f"{clients.num_clients:,} clients: the busiest sends {percent(clients.top_1_share)} of requests, "
            f"half of the requests come from {clients.num_for_half:,}."
        )
    if concurrency is not None:
        yield (
            f"Requests in flight ({concurrency.source} service times): mean {number(concurrency.mean)}, "
            f"P99 {number(concurrency.p99)}, most {concurrency.peak:,}."
        )
