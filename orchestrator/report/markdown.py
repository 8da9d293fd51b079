"""A study as Markdown: the same content as the HTML, without pictures."""

from collections.abc import Iterator, Sequence

from orchestrator.domain.study_record import StudyRecord
from orchestrator.report.agreement import DIFFERENCE_HEADS, agreement_text, how_asked
from orchestrator.report.conditions import CONDITION_HEADS
from orchestrator.report.content import (
    LATENCY_HEADS,
    LOAD_HEADS,
    TABLES_EXPLAINED,
    TRIAL_HEADS,
    UNSTABLE_EXPLAINED,
    TrialRow,
    is_sound,
    slo_text,
    summary,
    trial_rows,
    unmeasured,
    unstable_loads,
)
from orchestrator.report.environment import environment_rows
from orchestrator.report.fairness import UNEQUAL_HEADS, unequal, unequal_rows
from orchestrator.report.resolved import RESOLVED_HEADS, resolved_rows


def to_markdown(record: StudyRecord) -> str:
    """Spell a study as Markdown."""
    return "\n".join(_lines(record)) + "\n"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Spell a table; what would break its cells or be read as HTML is escaped."""
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    for row in rows:
        yield f"| {' | '.join(escape(cell) for cell in row)} |"


def escape(text: str) -> str:
    """Make a text safe inside Markdown: one line, no cell border, no HTML."""
    plain = " ".join(text.split())
    return plain.replace("&", "&amp;").replace("<", "&lt;").replace("|", "\\|")


def flags(record: StudyRecord) -> Iterator[str]:
    """Say what a reader must know before the figures."""
    if record.is_simulated:
        yield "**Simulated.** Figures here come from the simulated engine; they say nothing about a real one."
    if record.is_partial:
        yield "**Partial.** The study has not come to its end; trials are missing."
    if not is_sound(record):
        yield "**Not every figure is sound.** At some loads the client did not keep its own pace."
    if unstable := unstable_loads(record):
        yield f"**Loads outgrew the server:** {escape(', '.join(unstable))}. {UNSTABLE_EXPLAINED}"
    yield from (escape(note) for note in record.notes)


def _lines(record: StudyRecord) -> Iterator[str]:
    rows = trial_rows(record)
    yield f"# {escape(record.spec.name)}"
    ended = f", ended {record.ended_at}" if record.ended_at else ""
    yield f"\nStudy {escape(record.study_id)}, begun {record.started_at}{ended}."
    yield from (f"\n> {line}" for line in flags(record))
    yield "\n## Summary\n"
    yield from (f"- {escape(line)}" for line in summary(record))
    yield f"\nSLO: {slo_text(record.spec.slo)}. Objective: {record.spec.search.objective}.\n\n## Trials\n"
    yield from table((*TRIAL_HEADS, "reason"), [(*row.cells, row.reason) for row in rows])
    yield "\n## Measurements\n"
    yield TABLES_EXPLAINED
    for row in rows:
        if row.loads:
            yield from _measurements(row)
    yield from _unequal(record)
    yield from _agreement(record)
    yield from _resolved(record)
    yield "\n## What was not measured\n"
    yield from [f"- {escape(line)}" for line in unmeasured(record)] or ["Nothing that this report shows is missing."]
    yield "\n## Environment\n"
    yield from table(("what", "value"), environment_rows(record))


def _measurements(row: TrialRow) -> Iterator[str]:
    yield f"\n### Trial {row.cells[0]}, {escape(row.cells[1])}: {escape(row.cells[2])}\n"
    yield from table(LOAD_HEADS, [load.cells for load in row.loads])
    yield ""
    yield from table(LATENCY_HEADS, [line for load in row.loads for line in load.latencies])
    yield ""
    yield from table(CONDITION_HEADS, [load.conditions for load in row.loads])
    yield f"\nCalibration: {escape(row.calibration)}."


def _unequal(record: StudyRecord) -> Iterator[str]:
    found = unequal(record)
    if found is None:
        return
    yield "\n## What is not equal\n"
    if found:
        yield from table(UNEQUAL_HEADS, unequal_rows(found))
    else:
        yield "All candidates ran under equal conditions."


def _resolved(record: StudyRecord) -> Iterator[str]:
    rows = resolved_rows(record)
    if rows:
        yield "\n## What the engines resolved differently\n"
        yield from table(RESOLVED_HEADS, rows)


def _agreement(record: StudyRecord) -> Iterator[str]:
    told = agreement_text(record)
    if told is None:
        return
    yield f"\n## Do the candidates serve the same model?\n\n{how_asked()}\n"
    yield from (f"- {escape(line)}" for line in told.sentences)
    if told.rows:
        yield ""
        yield from table(DIFFERENCE_HEADS, told.rows)
