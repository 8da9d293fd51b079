"""One small replay, by hand: three answers and a failure, in a window of ten seconds."""

from collections.abc import Sequence
from typing import NamedTuple

import pytest

from orchestrator.domain.measurement import Measurement
from orchestrator.domain.records import ReplayLog, RequestFailure, RequestRecord
from orchestrator.metrics.summary import MeasurementFacts, summarise
from tests.unit.metrics.conftest import make_log, make_record


class Replayed(NamedTuple):
    measurement: Measurement
    log: ReplayLog


def replayed(records: Sequence[RequestRecord]) -> Replayed:
    log = make_log(records)
    facts = MeasurementFacts(
        trial_digest="trial",
        schedule_digest="schedule",
        content="english",
        length_scale=None,
        cache_policy="salted",
        is_simulated=True,
        started_at="2030-01-01T00:00:00+00:00",
        warmup_s=0,
        stop="forced",
    )
    return Replayed(summarise(log, facts), log)


@pytest.fixture
def small() -> Replayed:
    return replayed(
        [
            make_record(0, intended_ms=0),
            make_record(1, intended_ms=100, chunks_ms=(40, 60, 90)),
            make_record(2, intended_ms=200, chunks_ms=(60, 61)),
            make_record(3, intended_ms=300, chunks_ms=(), failure=RequestFailure.TIMEOUT, failure_detail="too late"),
        ]
    )
