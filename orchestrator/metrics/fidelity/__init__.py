"""The client's verdict on itself: whether its own lateness, its path or its counting may stand behind the figures."""

from orchestrator.metrics.fidelity.judge import judge

__all__ = ["judge"]
