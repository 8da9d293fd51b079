"""A study as one HTML file that needs nothing else: no script, no remote asset, pictures inside."""

import base64

from jinja2 import Environment, PackageLoader, StrictUndefined

from orchestrator.domain.study_record import StudyRecord
from orchestrator.report.agreement import DIFFERENCE_HEADS, agreement_text, how_asked
from orchestrator.report.conditions import CONDITION_HEADS
from orchestrator.report.content import (
    LATENCY_HEADS,
    LOAD_HEADS,
    TABLES_EXPLAINED,
    TRIAL_HEADS,
    UNSTABLE_EXPLAINED,
    is_sound,
    slo_text,
    summary,
    trial_rows,
    unmeasured,
    unstable_loads,
)
from orchestrator.report.curves import draw_overlay
from orchestrator.report.environment import environment_rows
from orchestrator.report.fairness import UNEQUAL_HEADS, unequal, unequal_rows
from orchestrator.report.labels import trial_label
from orchestrator.report.resolved import RESOLVED_HEADS, resolved_rows
from orchestrator.report.timelines import draw_memory, draw_processor


def to_html(record: StudyRecord) -> str:
    """Spell a study as HTML; whatever comes from names, flags or logs is escaped."""
    environment = Environment(
        loader=PackageLoader("orchestrator.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    return environment.get_template("study.html.j2").render(
        record=record,
        summary=summary(record),
        slo=slo_text(record.spec.slo),
        is_sound=is_sound(record),
        trial_heads=TRIAL_HEADS,
        load_heads=LOAD_HEADS,
        latency_heads=LATENCY_HEADS,
        condition_heads=CONDITION_HEADS,
        tables_explained=TABLES_EXPLAINED,
        unstable_loads=unstable_loads(record),
        unstable_explained=UNSTABLE_EXPLAINED,
        trials=trial_rows(record),
        overlay=_overlay(record),
        timelines=_timelines(record),
        unequal=None if (found := unequal(record)) is None else unequal_rows(found),
        unequal_heads=UNEQUAL_HEADS,
        resolved=resolved_rows(record),
        resolved_heads=RESOLVED_HEADS,
        agreement=agreement_text(record),
        how_asked=how_asked(),
        difference_heads=DIFFERENCE_HEADS,
        unmeasured=unmeasured(record),
        environment=environment_rows(record),
    )


def _overlay(record: StudyRecord) -> str | None:
    has_curves = any(one.measurements for one in record.trials)
    return _embed(draw_overlay(record.trials, slo=record.spec.slo)) if has_curves else None


def _timelines(record: StudyRecord) -> list[tuple[str, str]]:
    drawn = (
        (f"{what} of trial {trial_label(trial)}", draw(trial, fmt="svg"))
        for trial in record.trials
        for what, draw in (("Memory", draw_memory), ("Processor", draw_processor))
    )
    return [(title, _embed(picture)) for title, picture in drawn if picture is not None]


def _embed(svg: bytes) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(svg).decode()}"
