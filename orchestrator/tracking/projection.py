"""Tells a study's journal to the tracker, in the background and in order; also what an earlier driver left untold."""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

from orchestrator.domain.clock import Clock
from orchestrator.domain.study_record import TrialRecord
from orchestrator.tracking.events import Event, StudyEnded, StudyOpened, TrialEnded
from orchestrator.tracking.operations import LogFile, LogMetrics, Operation
from orchestrator.tracking.runs import end_of_trial, operations_of
from orchestrator.tracking.samples import telemetry_points
from orchestrator.tracking.spool import Sink, Spool
from orchestrator.tracking.store import Store
from orchestrator.tracking.study import EvidenceOf, no_evidence, trial_record

Plots = Callable[[TrialRecord], Mapping[str, bytes]]
TrafficPlots = Callable[[], Mapping[str, bytes]]


def no_plots(trial: TrialRecord) -> Mapping[str, bytes]:  # noqa: ARG001 - the callable's form
    """Draw nothing."""
    return {}


def no_traffic() -> Mapping[str, bytes]:
    """Draw no traffic."""
    return {}


@dataclass(frozen=True, slots=True)
class Attachments:
    """Where a trial's files come from: `folder` holds one folder a trial, the rest is made when the trial has ended.

    `traffic` draws what the study replays. It takes time, so it is called when nothing is measured any more.
    """

    folder: Path | None = None
    evidence: EvidenceOf = no_evidence
    plots: Plots = no_plots
    traffic: TrafficPlots = no_traffic


class Projection:
    """A study's events on their way to the tracker. One thread; `tell` never waits for the tracker."""

    def __init__(
        self, store: Store, study_id: str, *, connect: Callable[[], Sink], clock: Clock, attachments: Attachments
    ) -> None:
        self._store = store
        self._study_id = study_id
        self._attachments = attachments
        self._spool = Spool(store, study_id, connect=connect, clock=clock)
        self._events: list[Event] = []
        self._opened: StudyOpened | None = None
        self._told = self._read_told()
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="tracker")
        self._jobs: list[Future[None]] = []

    def tell(self, event: Event) -> None:
        """Queue the journal's next line; a line that the tracker was told before is only remembered."""
        self._jobs.append(self._worker.submit(self._tell, event))

    def settle(self, timeout_s: float) -> None:
        """Wait until everything told so far is delivered or spooled, at most for the given time."""
        wait(self._jobs, timeout=timeout_s)

    def close(self) -> tuple[str, ...]:
        """Deliver what is queued, try once to catch up, and say what could not be told."""
        self._jobs.append(self._worker.submit(self._catch_up))
        self._worker.shutdown(wait=True)
        errors = [error for error in (job.exception() for job in self._jobs) if error is not None]
        return (*(f"tracking: {type(error).__name__}: {error}" for error in errors), *self._spool_notes())

    def _tell(self, event: Event) -> None:
        self._events.append(event)
        if isinstance(event, StudyOpened):
            self._opened = event
        line = len(self._events)
        # The last line is told again: its driver may have died between its operations, and twice does no harm.
        if line < self._told or self._opened is None:
            return
        for operation in self._operations(event, self._opened):
            self._spool.deliver(operation)
        if line <= self._told + 1:  # behind a line that failed nothing counts as told: the next driver tells it again
            self._told = line
            self._store.put(self._told_key, str(line).encode())

    def _operations(self, event: Event, opened: StudyOpened) -> Iterator[Operation]:
        if isinstance(event, StudyEnded) and event.reason == "finished":
            yield from self._traffic()
        yield from operations_of(event, opened)
        if isinstance(event, TrialEnded):
            yield from self._files(trial_record(self._events, event.trial_id, evidence=self._attachments.evidence))
            yield end_of_trial(event)

    def _traffic(self) -> Iterator[Operation]:
        for path, data in self._attachments.traffic().items():
            key = f"studies/{self._study_id}/traffic/{path}"
            self._store.put(key, data)
            yield LogFile(run=self._study_id, key=key, path=f"traffic/{path}")

    def _files(self, trial: TrialRecord) -> Iterator[Operation]:
        name = trial.trial.trial_id
        prefix = f"studies/{self._study_id}/trials/{name}"
        if trial.evidence is not None:
            yield LogMetrics(run=name, points=telemetry_points(trial.evidence))
        for path, data in self._attachments.plots(trial).items():
            self._store.put(f"{prefix}/plots/{path}", data)
        if self._attachments.folder is not None:
            self._store.put_tree(self._attachments.folder / name, prefix)
        for key in self._store.list(prefix):
            yield LogFile(run=name, key=key, path=key.removeprefix(f"{prefix}/"))

    def _catch_up(self) -> None:
        self._spool.catch_up()

    def _spool_notes(self) -> Iterator[str]:
        spool = self._spool
        if spool.num_waiting:
            yield f"{spool.num_waiting} operations wait for the tracker and are caught up later: {spool.last_error}"
        if spool.num_refused:
            yield f"the tracker refused {spool.num_refused} operations, kept in refused.jsonl: {spool.last_error}"

    @property
    def _told_key(self) -> str:
        return f"studies/{self._study_id}/told"

    def _read_told(self) -> int:
        try:
            return int(self._store.get(self._told_key))
        except FileNotFoundError:
            return 0
