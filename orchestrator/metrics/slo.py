"""Judges requests against an SLO. Every request issued in the window counts; a failed one is a miss."""

from collections.abc import Sequence

from orchestrator.domain.records import RequestRecord
from orchestrator.domain.slo import Slo
from orchestrator.metrics import latency


def meets(record: RequestRecord, slo: Slo) -> bool:
    """Say whether one request kept every bound of the SLO; TTFT and E2E are taken from intended arrival.

    An absent value passes no bound: a failed request misses, and so does a one-token output under a TPOT bound.
    """
    judged = (
        (slo.ttft_s, latency.ttft_from_intended_s),
        (slo.tpot_s, latency.tpot_s),
        (slo.e2e_s, latency.e2e_from_intended_s),
    )
    return record.failure is None and all(
        (value := read(record)) is not None and value <= bound for bound, read in judged if bound is not None
    )


def slo_attainment(issued: Sequence[RequestRecord], slo: Slo) -> float | None:
    """Return the share of issued requests that met the SLO, 0 to 1; None where none was issued.

    Source: DistServe (OSDI 2024), section 2; the denominator is requests issued, so failures cannot improve it.
    """
    if not issued:
        return None
    return sum(meets(one, slo) for one in issued) / len(issued)


def goodput_rps(issued: Sequence[RequestRecord], slo: Slo, *, window_s: float) -> float | None:
    """Return requests issued in the window that met the SLO, per second of window; None where none was issued."""
    if not issued:
        return None
    return sum(meets(one, slo) for one in issued) / window_s
