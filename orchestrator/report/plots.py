"""The pictures that are attached to a trial's run."""

from collections.abc import Mapping

from orchestrator.domain.slo import Slo
from orchestrator.domain.study_record import TrialRecord
from orchestrator.report.curves import draw_trial
from orchestrator.report.timelines import draw_memory, draw_processor


def trial_plots(trial: TrialRecord, *, slo: Slo | None = None) -> Mapping[str, bytes]:
    """Draw a trial's PNGs by file name; a plot with nothing to show is left out."""
    drawn = {
        "throughput_latency.png": draw_trial(trial, slo=slo) if trial.measurements else None,
        "memory.png": draw_memory(trial),
        "processor.png": draw_processor(trial),
    }
    return {name: data for name, data in drawn.items() if data is not None}
