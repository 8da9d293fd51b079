"""Whether the ruler can be trusted: the client's verdict on itself."""

from enum import StrEnum

from pydantic import Field, FiniteFloat

from orchestrator.domain.distribution import Distribution
from orchestrator.domain.published import Published
from orchestrator.domain.records import ClientPath


class Verdict(StrEnum):
    """Whether the ruler can be trusted for this measurement."""

    SOUND = "sound"
    DEGRADED = "degraded"
    INVALID = "invalid"


class Fidelity(Published):
    """The client's honesty about itself; `reasons` is empty exactly when the verdict is sound."""

    verdict: Verdict
    reasons: tuple[str, ...]
    dispatch_lag_s: Distribution
    loop_lag_s: Distribution
    client_cpu_ratio: FiniteFloat | None
    achieved_to_offered_ratio: FiniteFloat | None
    token_count_mismatch_ratio: FiniteFloat | None = Field(
        description="share of requests whose client and server counts differ; None where the server gives no usage"
    )
    dispatch_lag_max_s: FiniteFloat | None = Field(default=None, description="longest dispatch lag; None: none issued")
    loop_lag_max_s: FiniteFloat | None = Field(default=None, description="longest event-loop lag; None: not sampled")
    queue_s: Distribution | None = Field(
        default=None, description="waiting inside the client between dispatch and send, connecting apart; None: unknown"
    )
    connecting_s: Distribution | None = Field(
        default=None, description="connecting before each send, 0 where a connection was open; None: unknown"
    )
    arrival_error_s: Distribution | None = Field(
        default=None, description="distance of each realised send from its intended arrival; None in closed loop"
    )
    engine_ttft_difference_s: FiniteFloat | None = Field(
        default=None, description="client mean TTFT less that of the engine's own histogram; None: the engine has none"
    )
    bunched_chunk_ratio: FiniteFloat | None = Field(
        default=None, description="share of chunks within 0.1 ms of the one before in their stream; None: no such chunk"
    )
    clock_offset_s: FiniteFloat | None = Field(
        default=None, description="by how much times of a load worker may be off ours, at most; None: one process"
    )
    late_worker_s: FiniteFloat | None = Field(
        default=None, description="how long after the common start the last load worker began; None: one process"
    )
    backlog_s: FiniteFloat | None = Field(
        default=None, description="longest that a finished record waited to be written; None: kept in memory"
    )
    workers: int = Field(default=1, description="client processes that sent")
    path: ClientPath = Field(default=ClientPath.DIRECT, description="how requests travelled")
