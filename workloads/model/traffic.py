"""Traffic as one model: arrivals, lengths and how they go together, shared prefixes, sessions."""

from pydantic import Field

from workloads.digest import digest
from workloads.model.arrivals import ArrivalModel
from workloads.model.frozen import Frozen
from workloads.model.lengths import Dependence, LengthModel
from workloads.model.prefixes import PrefixModel
from workloads.model.sessions import SessionModel


class TrafficModel(Frozen):
    """All that traffic is made from. `rate_rps` and `span_s` are what was seen, None where nothing was measured."""

    arrivals: ArrivalModel
    input_tokens: LengthModel
    output_tokens: LengthModel
    dependence: Dependence = Field(default_factory=Dependence)
    prefix: PrefixModel | None = None
    sessions: SessionModel | None = None
    rate_rps: float | None = Field(default=None, gt=0)
    span_s: float | None = Field(default=None, gt=0)

    @property
    def digest(self) -> str:
        """Digest the whole model."""
        return digest(self.model_dump(mode="json"))
