"""Settings as engines resolved them, where two candidates of one engine differ: what a path or a version changed."""

from collections.abc import Iterator

from orchestrator.domain.study_record import StudyRecord, TrialRecord

RESOLVED_HEADS = ("engine", "setting", "resolved as")
PREFIX = "resolved."
ABSENT = "not told"


def resolved_rows(record: StudyRecord) -> list[tuple[str, str, str]]:
    """Compare the default trials of each engine's candidates, setting by setting; equal ones are left out."""
    told = [one for one in record.trials if one.trial.number == 0 and any(key.startswith(PREFIX) for key in one.facts)]
    engines = dict.fromkeys(one.trial.engine for one in told)
    return [row for name in engines for row in _of_engine(name, [one for one in told if one.trial.engine == name])]


def _of_engine(engine: str, trials: list[TrialRecord]) -> Iterator[tuple[str, str, str]]:
    settings = sorted({key for one in trials for key in one.facts if key.startswith(PREFIX)})
    for key in settings:
        values = {one.trial.label: one.facts.get(key, ABSENT) for one in trials}
        if len(set(values.values())) > 1:
            told = "; ".join(f"{name}: {value}" for name, value in values.items())
            yield engine, key.removeprefix(PREFIX), told
