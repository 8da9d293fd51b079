"""A study's store on S3, spoken to over HTTP: moto's server stands in for the service."""

from collections.abc import Iterator

import pytest
from moto.server import ThreadedMotoServer

from orchestrator.domain.errors import TrackingError
from orchestrator.tracking.events import TrialStarted
from orchestrator.tracking.journal import open_journal, read_journal
from orchestrator.tracking.lease import Lease
from orchestrator.tracking.owner import Owner, this_owner
from orchestrator.tracking.store import Store, open_store
from tests.study_builders import FixedClock, a_trial

boto3 = pytest.importorskip("boto3", reason="needs the s3 extra")
AT = "2027-01-15T08:00:00+00:00"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def store(server: str, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setenv("AWS_ENDPOINT_URL", server)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    boto3.client("s3").create_bucket(Bucket="studies")
    return open_store("s3://studies/team")


def test_a_store_on_s3_holds_journal_lease_and_files(store: Store) -> None:
    journal = open_journal(store, "demo-1", at=AT)
    for number in range(12):
        trial = a_trial(number)
        journal.append(TrialStarted(at=AT, trial_id=trial.trial_id, digest=trial.digest, trial=trial))
    events = read_journal(store, "demo-1").events
    assert [event.trial.number for event in events if isinstance(event, TrialStarted)] == list(range(12))
    assert len(open_journal(store, "demo-1", at=AT).past.events) == 12


def test_of_two_writers_of_one_key_the_second_is_refused_by_the_service(store: Store) -> None:
    store.create("race", b"first")
    with pytest.raises(FileExistsError):
        store.create("race", b"second")
    assert store.get("race") == b"first"


def test_a_driver_elsewhere_holds_its_study_until_its_time_is_over(store: Store) -> None:
    clock = FixedClock()
    there = Owner(pid=1, process_start="1", host="node7", place="node7", job="raysubmit_1")
    Lease(store, "demo-2", owner=there, clock=clock).take()
    with pytest.raises(TrackingError, match="raysubmit_1"):
        Lease(store, "demo-2", owner=this_owner(), clock=clock).take()
    clock.time_s += 61
    with Lease(store, "demo-2", owner=this_owner(), clock=clock):
        pass


def test_a_service_that_does_not_answer_is_refused_at_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    assert store.root is None
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    with pytest.raises(TrackingError, match="cannot be written"):
        open_store("s3://studies/elsewhere")


def test_a_bucket_that_is_not_there_is_refused_at_once(store: Store) -> None:
    assert store.root is None
    with pytest.raises(TrackingError, match="cannot be written"):
        open_store("s3://nobody-made-this/team")
