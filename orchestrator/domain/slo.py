"""The promise that a request must keep and the share of requests that must keep it."""

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Slo(BaseModel):
    """Upper bounds for one request, in seconds, and the share of issued requests that must meet all of them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    ttft_s: float | None = Field(default=None, gt=0)
    tpot_s: float | None = Field(default=None, gt=0, description="a one-token output has no TPOT and passes no bound")
    e2e_s: float | None = Field(default=None, gt=0)
    attainment: float = Field(default=0.9, gt=0, le=1)

    @model_validator(mode="after")
    def _bounds_something(self) -> "Slo":
        if self.ttft_s is None and self.tpot_s is None and self.e2e_s is None:
            raise ValueError("an SLO needs at least one of ttft_s, tpot_s, e2e_s")
        return self
