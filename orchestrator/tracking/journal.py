"""The journal of one study: append-only, one line an event, the truth from which a study is resumed and reported.

A torn last line is cut off and said; a bad line before it is an error with its number; no measurement is written twice.
"""

from collections.abc import Iterable
from typing import NamedTuple

from pydantic import ValidationError

from orchestrator.domain.errors import TrackingError
from orchestrator.domain.measurement import Measurement
from orchestrator.domain.runner import PastTrial
from orchestrator.domain.trial import TrialSpec
from orchestrator.tracking.append_log import AppendLog, open_log
from orchestrator.tracking.events import (
    Event,
    Measured,
    Repaired,
    TrialEnded,
    TrialStarted,
    outcome_of,
    parse_event,
    to_line,
)
from orchestrator.tracking.store import Store


class Reading(NamedTuple):
    """A journal's events in order, and what a kill left of a torn last line."""

    events: tuple[Event, ...]
    torn: str | None


class DuplicateMeasurementError(TrackingError):
    """The journal holds this measurement already."""


class Journal:
    """One study's journal, opened for writing; only the holder of the study's lease may have one."""

    def __init__(self, log: AppendLog, name: str, reading: Reading) -> None:
        self._log = log
        self._name = name
        self._keys = {event.key for event in reading.events if isinstance(event, Measured)}
        self._count = len(reading.events)
        self.past = reading

    def append(self, event: Event) -> int:
        """Write one event durably and return its line number, counted from 1.

        Raises:
            DuplicateMeasurementError: the measurement's key is in the journal.
            TrackingError: the store refused the line (full disk, lost connection).
        """
        if isinstance(event, Measured) and event.key in self._keys:
            raise DuplicateMeasurementError(
                f"{self._name} holds measurement {event.key} already; it was measured twice, the first stands"
            )
        try:
            self._log.append(to_line(event))
        except OSError as error:
            raise TrackingError(
                f"{self._name} cannot be written: {error}; make room or restore the store, then run --resume"
            ) from error
        if isinstance(event, Measured):
            self._keys.add(event.key)
        self._count += 1
        return self._count

    def holds(self, key: str) -> bool:
        """Say whether a measurement is there."""
        return key in self._keys


def journal_key(study_id: str) -> str:
    """Name a study's journal in its store."""
    return f"studies/{study_id}/journal"


def measurement_key(trial: TrialSpec, measurement: Measurement) -> str:
    """Key a measurement: two trials of equal configuration are told apart, since both are results."""
    return f"{trial.trial_id}/{measurement.digest}"


def open_journal(store: Store, study_id: str, *, at: str) -> Journal:
    """Open a study's journal for writing; a torn last line is cut off and a line that says so takes its place.

    Raises:
        TrackingError: a line before the last is not an event.
    """
    log, name = open_log(store, journal_key(study_id)), _name(study_id)
    reading = _read(log, name)
    if reading.torn is not None:
        log.cut()
        kept = _whole(reading.torn)
        repair = kept if kept is not None else Repaired(at=at, cut=reading.torn)
        log.append(to_line(repair))
        reading = Reading((*reading.events, repair), reading.torn)
    return Journal(log, name, reading)


def read_journal(store: Store, study_id: str) -> Reading:
    """Read a study's journal, changing nothing; also while its driver runs.

    Raises:
        TrackingError: there is none, or a line before the last is not an event.
    """
    reading = _read(open_log(store, journal_key(study_id)), _name(study_id))
    if not reading.events:
        raise TrackingError(f"no study {study_id} in {store.url}; known: {', '.join(list_studies(store)) or 'none'}")
    return reading


def list_studies(store: Store) -> tuple[str, ...]:
    """List the studies of a store by id."""
    return tuple(sorted({key.split("/")[1] for key in store.list("studies") if key.count("/") > 1}))


def read_past(events: Iterable[Event]) -> tuple[PastTrial, ...]:
    """Gather what a resumed study may skip: each trial with its measurements and, where it ended, its outcome."""
    trials: dict[str, TrialSpec] = {}
    measurements: dict[str, list[Measurement]] = {}
    endings: dict[str, TrialEnded] = {}
    for event in events:
        match event:
            case TrialStarted():
                trials.setdefault(event.trial_id, event.trial)
                endings.pop(event.trial_id, None)
            case Measured():
                measurements.setdefault(event.trial_id, []).append(event.measurement)
            case TrialEnded():
                endings[event.trial_id] = event
            case _:
                continue
    return tuple(_past(spec, measurements.get(name, []), endings.get(name)) for name, spec in trials.items())


def _past(trial: TrialSpec, measured: list[Measurement], ended: TrialEnded | None) -> PastTrial:
    measurements = tuple(measured)
    return PastTrial(trial, measurements, outcome_of(ended.ending, measurements) if ended else None)


def _read(log: AppendLog, name: str) -> Reading:
    try:
        lines = log.read()
    except OSError as error:
        raise TrackingError(f"{name} cannot be read: {error}") from error
    events = tuple(_parse(line, name, number) for number, line in enumerate(lines.whole, 1))
    return Reading(events, lines.torn.decode(errors="replace") if lines.torn is not None else None)


def _parse(line: bytes, name: str, number: int) -> Event:
    try:
        return parse_event(line)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise TrackingError(
            f"{name}, line {number}: not an event of this journal ({first['msg']} at {list(first['loc'])}); seen "
            f"{line[:80]!r}; restore the line from a copy or move it elsewhere, nothing is skipped silently"
        ) from error


def _whole(torn: str) -> Event | None:
    """Return the event of a last line that lacks only its newline."""
    try:
        return parse_event(torn.encode())
    except ValidationError:
        return None


def _name(study_id: str) -> str:
    return f"journal of study {study_id}"
