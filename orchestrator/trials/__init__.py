"""One trial from check to verified stop. Knows no cluster; what deploys is handed in."""

from orchestrator.trials.ends import InfeasibleError, end_of, score
from orchestrator.trials.run import TrialRun, run_trial
from orchestrator.trials.specs import trial_spec

__all__ = ["InfeasibleError", "TrialRun", "end_of", "run_trial", "score", "trial_spec"]
