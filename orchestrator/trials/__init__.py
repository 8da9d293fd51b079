"""One trial from check to verified stop. Knows no cluster; what deploys is handed in.

Its parts are imported when they are asked for: a client that only replays needs neither deployers nor telemetry.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
_HOME = {
    **dict.fromkeys(("InfeasibleError", "end_of", "score"), "ends"),
    **dict.fromkeys(("TrialResult", "TrialRun", "example_plan", "placement_of", "run_trial"), "run"),
    "trial_spec": "specs",
    "schedule_for": "traffic",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - of any kind
    if name in _HOME:
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
