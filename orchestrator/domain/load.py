"""Offered load: how hard a measurement pushes."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

MILLI = 1000


class OpenLoad(BaseModel):
    """Requests arrive on a schedule, whatever the server does."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    mode: Literal["open"] = "open"
    rate_rps: float = Field(gt=0, description="mean arrival rate, requests per second")

    @property
    def step(self) -> int:
        """Return the load as an integer: thousandths of a request per second."""
        return round(self.rate_rps * MILLI)

    def __str__(self) -> str:
        return f"{self.rate_rps:g} requests/s"


class ClosedLoad(BaseModel):
    """A fixed number of users, each waiting for its answer before it asks again."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    mode: Literal["closed"] = "closed"
    users: int = Field(gt=0, description="concurrent users")

    @property
    def step(self) -> int:
        """Return the load as an integer: users."""
        return self.users

    def __str__(self) -> str:
        return f"{self.users} users"


OfferedLoad = Annotated[OpenLoad | ClosedLoad, Field(discriminator="mode")]
