from array import array
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.domain.errors import InputError
from orchestrator.domain.load import ClosedLoad, OpenLoad
from orchestrator.domain.records import ReplayLog, RequestFailure, RequestRecord, Window
from orchestrator.replay import read_records, write_records

NS = st.integers(-(2**63), 2**63 - 1)
MAYBE = st.none() | NS
TEXT = st.none() | st.text(st.characters(exclude_categories=["Cs"]))
TIMES = st.lists(NS, max_size=4).map(lambda values: array("q", values))
RECORDS = st.builds(
    RequestRecord,
    index=NS,
    intended_ns=NS,
    dispatched_ns=NS,
    sent_ns=MAYBE,
    chunk_ns=TIMES,
    end_ns=NS,
    input_tokens=MAYBE,
    output_tokens_asked=MAYBE,
    input_tokens_server=MAYBE,
    output_tokens_server=MAYBE,
    output_tokens_client=NS,
    cached_tokens_server=MAYBE,
    first_answer_ns=MAYBE,
    finish_reason=TEXT,
    http_status=MAYBE,
    failure=st.none() | st.sampled_from(RequestFailure),
    failure_detail=TEXT,
    connect_ns=NS,
    chunk_tokens=st.none() | TIMES,
)
LOGS = st.builds(
    ReplayLog,
    load=st.builds(OpenLoad, rate_rps=st.floats(0.001, 1e6)) | st.builds(ClosedLoad, users=st.integers(1, 1000)),
    records=st.lists(RECORDS, max_size=4).map(tuple),
    started_ns=NS,
    window=st.builds(Window, NS, NS),
    drained_ns=NS,
    loop_lag_ns=TIMES,
    client_cpu_ratio=st.none() | st.floats(0, 2),
    notes=st.dictionaries(st.text(), st.text(), max_size=2),
)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("records") / "records.parquet"


@given(log=LOGS)
@settings(deadline=None)  # the first call loads Arrow
def test_a_log_comes_back_as_it_was(path: Path, log: ReplayLog) -> None:
    write_records(log, path)
    assert read_records(path) == log
    assert [one.name for one in path.parent.iterdir()] == [path.name]


EMPTY = ReplayLog(OpenLoad(rate_rps=1), (), 0, Window(0, 1), 2, array("q"), None)


def test_the_file_before_stays_whole_when_writing_fails(path: Path) -> None:
    write_records(EMPTY, path)
    with pytest.raises(ValueError, match="JSON"):
        write_records(replace(EMPTY, client_cpu_ratio=float("nan")), path)
    assert read_records(path) == EMPTY


def test_another_file_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="absent"):
        read_records(tmp_path / "absent.parquet")
    (tmp_path / "text.parquet").write_text("hello")
    with pytest.raises(InputError, match="expected request records"):
        read_records(tmp_path / "text.parquet")
