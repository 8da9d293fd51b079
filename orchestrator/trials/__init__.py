"""One trial from check to verified stop. Knows no cluster; what deploys is handed in."""

from orchestrator.trials.ends import InfeasibleError, end_of, score
from orchestrator.trials.run import TrialResult, TrialRun, example_plan, placement_of, run_trial
from orchestrator.trials.specs import trial_spec
from orchestrator.trials.traffic import schedule_for

__all__ = [
    "InfeasibleError",
    "TrialResult",
    "TrialRun",
    "end_of",
    "example_plan",
    "placement_of",
    "run_trial",
    "schedule_for",
    "score",
    "trial_spec",
]
