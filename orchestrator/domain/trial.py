"""One trial: one configuration of one engine within a study."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from workloads.digest import digest

_MEASURED = {"engine", "engine_version", "config", "model_sha256", "deploy_digest"}


class TrialSpec(BaseModel):
    """A configuration to deploy and measure. `number` is its place in the study; 0 is the engine's defaults."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    study_id: str
    study_digest: str
    number: int = Field(ge=0)
    engine: str
    candidate: str | None = Field(default=None, description="which of the study's candidates; None: named as engine")
    engine_version: str | None = None
    assignment: dict[str, Any] = Field(description="searched flags and their values; empty for the defaults")
    config: dict[str, Any] = Field(description="every flag that differs from the engine's default")
    model_sha256: str
    deploy_digest: str = Field(default="", description="of the deployment settings that may change a figure")

    @property
    def digest(self) -> str:
        """Digest what makes measurements of two trials interchangeable: engine, version, flags, weights, deployment."""
        return digest(self.model_dump(mode="json", include=_MEASURED))

    @property
    def label(self) -> str:
        """Name the candidate that the trial belongs to."""
        return self.candidate or self.engine

    @property
    def trial_id(self) -> str:
        """Name the trial's application, folder and run: study, number, digest of candidate and configuration."""
        return f"{self.study_id}-{self.number:03d}-{digest({'candidate': self.label, 'digest': self.digest})[:6]}"
