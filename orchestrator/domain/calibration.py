"""What the client itself can do on this machine, measured against a server that does nothing, and what a load asks."""

import math
from dataclasses import dataclass
from typing import Literal

from pydantic import Field, FiniteFloat

from orchestrator.domain.published import Published

MARGIN = (
    1.2  # a planned load must stay this far below what was shown: schedules burst, machines differ from hour to hour
)
Limit = Literal["client", "null_server", "search"]


@dataclass(frozen=True, slots=True)
class ClientNeed:
    """What a load asks of the client: requests and chunks of answers a second."""

    rps: float
    chunks_per_s: float


class Calibration(Published):
    """The ruler's own floor and ceiling, of one client process unless `workers` says more."""

    workers: int = Field(default=1, ge=1)
    ttft_floor_p50_s: FiniteFloat
    ttft_floor_p99_s: FiniteFloat
    itl_error_p99_s: FiniteFloat
    max_rps: FiniteFloat = Field(description="highest rate at which the client was still honest")
    max_chunks_per_s: FiniteFloat
    is_ceiling: bool = Field(description="whether the client, not the null server or the search's end, set the limit")
    measured_at: str = Field(description="UTC, ISO 8601")
    floor_rps: FiniteFloat | None = Field(default=None, description="rate at which the floors were taken")
    limited_by: Limit | None = Field(default=None, description="who set max_rps; None: not recorded")
    client_cpus: tuple[int, ...] | None = Field(default=None, description="cores of the client; None: not pinned")
    server_cpus: tuple[int, ...] | None = Field(default=None, description="cores of the null server; None: not pinned")
    notes: tuple[str, ...] = Field(default=(), description="what keeps the figures from being the client's alone")

    def __str__(self) -> str:
        """Spell floor and ceiling in one line for a person."""
        floor = (
            f"client's own error in TTFT {_ms(self.ttft_floor_p50_s)} (P50), {_ms(self.ttft_floor_p99_s)} (P99), "
            f"in ITL {_ms(self.itl_error_p99_s)} (P99)"
        )
        notes = "".join(f"; {note}" for note in self.notes)
        return f"{floor}; {self.ceiling_text}{notes}"

    @property
    def ceiling_text(self) -> str:
        """Spell the highest honest rate and who set it."""
        if not self.max_rps:
            is_servers = self.limited_by == "null_server"
            return "honest at no rate" + (", the null server being late itself" if is_servers else "")
        whose = {
            "client": "beyond it the client is not honest",
            "null_server": "the null server, not the client, set this limit",
            "search": "the search ended there",
            None: "beyond it nothing is known" if not self.is_ceiling else "beyond it the client is not honest",
        }[self.limited_by]
        many = f"{self.workers} processes" if self.workers > 1 else "a process"
        return f"honest up to {self.max_rps:,.0f} requests/s and {self.max_chunks_per_s:,.0f} chunks/s {many} ({whose})"

    def workers_for(self, need: ClientNeed) -> int | None:
        """Return how many processes such as the one measured carry a load with a margin of 20 %.

        None where no rate was shown honest and so nothing is known.
        """
        if not self.max_rps or not self.max_chunks_per_s:
            return None
        share = max(need.rps / self.max_rps, need.chunks_per_s / self.max_chunks_per_s) * MARGIN
        return max(1, math.ceil(share * self.workers))


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.2f} ms"
