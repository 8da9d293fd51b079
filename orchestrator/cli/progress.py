"""A live table of a running study on stderr: trial, state, load, TTFT from send and from intended arrival, goodput."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from rich.live import Live
from rich.table import Table

from orchestrator.cli.output import progress_console, say
from orchestrator.domain.measurement import Measurement
from orchestrator.domain.outcome import Completed, Failed, Infeasible, Pruned, TrialOutcome
from orchestrator.domain.runner import TrialTimes
from orchestrator.domain.trial import TrialSpec

COLUMNS = (
    "trial",
    "flags",
    "state",
    "load",
    "TTFT p50 / p90, from intended p90 (s)",
    "goodput (req/s)",
    "SLO met",
    "client",
)


@dataclass(slots=True)
class _Row:
    flags: str
    state: str = "starting"
    last: Measurement | None = None
    note: str = ""


@dataclass(slots=True)
class ProgressTable:
    """Watches a search and redraws its table; where stderr is no terminal it prints one line an event."""

    _rows: dict[str, _Row] = field(default_factory=dict)
    _live: Live | None = None

    def __enter__(self) -> Self:
        console = progress_console()
        if console.is_terminal:
            self._live = Live(self._table(), console=console, auto_refresh=False)
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._live is not None:
            self._live.stop()

    def started(self, trial: TrialSpec) -> None:
        """Show a trial that was handed out."""
        flags = ", ".join(f"{key}={value}" for key, value in trial.assignment.items()) or "defaults"
        self._rows[trial.trial_id] = _Row(flags)
        self._show(trial, f"starting with {flags}")

    def deployed(self, trial: TrialSpec, facts: Mapping[str, str]) -> None:
        """Show that a trial's engine runs."""
        self._rows[trial.trial_id].state = "measuring"
        self._show(trial, f"engine ready after {facts['start.token_s']} s")

    def measured(self, trial: TrialSpec, measurement: Measurement) -> None:
        """Show a trial's latest measurement."""
        self._rows[trial.trial_id].last = measurement
        self._show(trial, " | ".join(_figures(measurement)))

    def ended(self, trial: TrialSpec, outcome: TrialOutcome, times: TrialTimes) -> None:
        """Show how a trial ended."""
        self._rows[trial.trial_id].state = _ending(outcome)
        self._show(trial, f"{_ending(outcome)} after {times.wall_s:.1f} s")

    def _show(self, trial: TrialSpec, line: str) -> None:
        if self._live is None:
            say(f"trial {trial.number}: {line}")
        else:
            self._live.update(self._table(), refresh=True)

    def _table(self) -> Table:
        table = Table(*COLUMNS)
        for number, row in enumerate(self._rows.values()):
            figures = _figures(row.last) if row.last is not None else ("-",) * 5
            table.add_row(str(number), row.flags, row.state, *figures)
        return table


def _figures(measurement: Measurement) -> tuple[str, str, str, str, str]:
    load = f"{measurement.users} users" if measurement.offered_rps is None else f"{measurement.offered_rps:g} req/s"
    ttft = measurement.ttft_s
    return (
        load,
        f"{_number(ttft.p50)} / {_number(ttft.p90)}, {_number(measurement.ttft_from_intended_s.p90)}",
        _number(measurement.goodput_rps),
        "-" if measurement.slo_attainment is None else f"{measurement.slo_attainment:.0%}",
        measurement.fidelity.verdict.value,
    )


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


def _ending(outcome: TrialOutcome) -> str:
    match outcome:
        case Completed(score=score):
            return f"completed, score {score:.3g}"
        case Pruned():
            return "pruned"
        case Infeasible(reason=reason):
            return f"infeasible: {reason}"
        case Failed(reason=reason):
            return f"failed: {reason}"
