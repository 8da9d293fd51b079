"""One trial: one configuration of one engine within a study."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from workloads.digest import digest


class TrialSpec(BaseModel):
    """A configuration to deploy and measure. `number` is its place in the study; 0 is the engine's defaults."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    study_id: str
    study_digest: str
    number: int = Field(ge=0)
    engine: str
    assignment: dict[str, Any] = Field(description="searched flags and their values; empty for the defaults")
    config: dict[str, Any] = Field(description="every flag that differs from the engine's default")
    model_sha256: str
    deploy_digest: str = Field(default="", description="of the deployment settings that may change a figure")

    @property
    def digest(self) -> str:
        """Digest what makes measurements of two trials interchangeable: engine, flags, weights, deployment."""
        return digest(self.model_dump(mode="json", include={"engine", "config", "model_sha256", "deploy_digest"}))

    @property
    def trial_id(self) -> str:
        """Name the trial's application, folder and run: study, number, digest."""
        return f"{self.study_id}-{self.number:03d}-{self.digest[:6]}"
