"""Tune's view of the roster: a searcher hands out its tickets, a callback brings reports back. Neither decides."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ray
from ray import tune
from ray.tune.experiment import Trial
from ray.tune.search import Searcher

from orchestrator.cluster.reports import METRIC, Ticket
from orchestrator.cluster.roster import Answer, Roster
from orchestrator.cluster.trainable import TICKET


class RosterSearcher(Searcher):
    """Hands out what the roster does. Results reach the roster through the callback, so the searcher hears none."""

    def __init__(self, roster: Roster) -> None:
        super().__init__(metric=METRIC, mode="max")
        self._roster = roster

    def suggest(self, trial_id: str) -> dict[str, Any] | str | None:  # type: ignore[override]  # FINISHED is a str
        """Return the next trial's configuration; None: ask again later; FINISHED: the search is over."""
        match self._roster.hand_out(trial_id):
            case Ticket() as ticket:
                return {TICKET: ticket.model_dump_json(by_alias=True)}
            case Answer.WAIT:
                return None
            case Answer.OVER:
                return Searcher.FINISHED

    def on_trial_complete(self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False) -> None:  # noqa: FBT001, FBT002 - Tune's signature
        """Do nothing: the callback brings every end to the roster."""

    def save(self, checkpoint_path: str) -> None:
        """Save nothing: the journal is what a search resumes from."""
        Path(checkpoint_path).touch()

    def restore(self, checkpoint_path: str) -> None:
        """Refuse: the journal is what a search resumes from."""
        raise NotImplementedError(f"{checkpoint_path}: resume the study instead")


class RosterCallback(tune.Callback):
    """Brings every report to the roster and its answers to the desk; runs in the driver."""

    def __init__(self, roster: Roster, desk: Any, *, take_down: Callable[[str], None]) -> None:  # noqa: ANN401
        self._roster = roster
        self._desk = desk
        self._take_down = take_down
        self._is_told_to_stop = False

    # Tune passes everything by name; what a hook does not need it takes as `info`.

    def on_step_begin(self, **info: object) -> None:  # type: ignore[override]  # noqa: ARG002
        """Tell running trials to stop before their next load, once a person stopped the search."""
        if self._roster.is_stopping and not self._is_told_to_stop:
            ray.get(self._desk.stop.remote())
            self._is_told_to_stop = True

    def on_trial_result(self, *, trial: Trial, result: dict[str, Any], **info: object) -> None:  # type: ignore[override]  # noqa: ARG002
        """Bring a report to the roster; the devices of an ended trial are given back."""
        is_behind = self._roster.take(trial.trial_id, result["report"])
        if result["done"]:
            self._desk.give_back.remote(trial.trial_id)
        elif is_behind:
            ray.get(self._desk.prune.remote(trial.trial_id))

    def on_trial_error(self, *, trial: Trial, **info: object) -> None:  # type: ignore[override]  # noqa: ARG002
        """Take down what a lost trial left, give its devices back, and tell the roster."""
        lost = self._roster.trial_of(trial.trial_id)
        if lost is None:
            return
        self._take_down(lost.trial_id)
        self._desk.give_back.remote(trial.trial_id)
        self._roster.lose(trial.trial_id, _last_line(Path(trial.error_file)))


def _last_line(path: Path) -> str:
    """Return the last line of what Tune noted of an error: the exception itself."""
    lines = path.read_text(encoding="utf-8", errors="replace").strip().splitlines() if path.exists() else []
    return lines[-1] if lines else "Tune noted no reason"
