"""Where a candidate's engine runs: which version, by which interpreter, under which Ray runtime environment."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

Origin = Literal["own", "installed", "path", "image", "runtime_env"]


@dataclass(frozen=True, slots=True)
class EngineEnvironment:
    """`interpreter` None is the one that runs the replica; `version` None is unknown until the engine runs.

    `origin`: `own` is Seatrial's environment, `installed` one that it made, the rest is what the study names.
    `is_verified` says whether the adapter's flags and metrics were compared with this very version.
    """

    origin: Origin
    version: str | None = None
    interpreter: Path | None = None
    is_verified: bool = False
    runtime_env: Mapping[str, Any] = field(default_factory=dict)

    def facts(self) -> dict[str, str]:
        """Return what a record says of it."""
        return {
            "engine.version": self.version or "unknown",
            "engine.version_verified": "yes" if self.is_verified else "no",
            "engine.environment": self.origin,
        }
