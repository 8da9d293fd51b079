"""What a replay leaves: one record a request, one log a load.

All times are integer nanoseconds of one monotonic clock.
"""

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from orchestrator.domain.load import OfferedLoad


class RequestFailure(StrEnum):
    """Why a request failed; every kind is told apart and none is ever a success."""

    REFUSED = "refused"
    HTTP_STATUS = "http_status"
    STREAM_ERROR = "stream_error"
    CUT_STREAM = "cut_stream"
    BAD_RESPONSE = "bad_response"
    EMPTY_OUTPUT = "empty_output"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"


class ClientPath(StrEnum):
    """How a replay's requests travel; all but the direct one have costs of their own."""

    DIRECT = "direct"
    UNIX = "unix"
    TLS = "tls"
    PROXY = "proxy"


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """One request, from its intended arrival to its end.

    `chunk_ns` holds the arrival of every chunk that carried content, reasoning or a tool call, so its
    first entry is the first token. `output_tokens_client` counts what the client can know: token ids in the
    stream where the dialect has them, else one token a chunk. `chunk_tokens` says how many tokens each chunk carried,
    None where the stream does not tell. Server counts come from `usage` and are None where the server gave none.
    """

    index: int
    intended_ns: int
    dispatched_ns: int
    sent_ns: int | None
    chunk_ns: "array[int]"
    end_ns: int
    input_tokens: int | None
    output_tokens_asked: int | None
    input_tokens_server: int | None = None
    output_tokens_server: int | None = None
    output_tokens_client: int = 0
    cached_tokens_server: int | None = None
    first_answer_ns: int | None = None
    finish_reason: str | None = None
    http_status: int | None = None
    failure: RequestFailure | None = None
    failure_detail: str | None = None
    connect_ns: int = 0
    chunk_tokens: "array[int] | None" = None

    @property
    def first_ns(self) -> int | None:
        """Return when the first token arrived, None where none did."""
        return self.chunk_ns[0] if self.chunk_ns else None

    @property
    def last_ns(self) -> int | None:
        """Return when the last token arrived, None where none did."""
        return self.chunk_ns[-1] if self.chunk_ns else None

    @property
    def output_tokens(self) -> int | None:
        """Return the output length: the server's own count, else the client's; None for a failed request."""
        if self.failure is not None:
            return None
        return self.output_tokens_client if self.output_tokens_server is None else self.output_tokens_server


@dataclass(frozen=True, slots=True)
class Window:
    """The span in which issued requests are measured: those intended in [start_ns, end_ns)."""

    start_ns: int
    end_ns: int

    @property
    def duration_s(self) -> float:
        """Return the window's length in seconds."""
        return (self.end_ns - self.start_ns) / 1e9


@dataclass(frozen=True, slots=True)
class WorkerReport:
    """One client process of a replay that several shared.

    `clock_offset_ns` is its monotonic clock less the coordinator's, `clock_error_ns` half the round trip in which that
    was measured; times in its records are the coordinator's. `late_ns` is how long after the common start it began.
    `failure` says why its records are missing or partial, None where it came to its end.
    """

    name: str
    host: str
    pid: int
    num_requests: int
    cpu_ratio: float | None
    late_ns: int = 0
    clock_offset_ns: int = 0
    clock_error_ns: int = 0
    failure: str | None = None


@dataclass(frozen=True, slots=True)
class ReplayLog:
    """Everything one replay saw: all records (warm-up and drain included), its window, its own lags.

    `loop_lag_ns` samples how late the client's event loop ran; `client_cpu_ratio` is the share of one core that
    the client used in the window, the busiest worker's where several sent. `late_ns` of a request is dispatched minus
    intended. `workers` is empty where one process did all. `early_stop` says why the load was given up before its
    window's end, which is then where it was given up. `backlog_s` is the longest that a finished record waited to be
    written, None where records were kept in memory.
    """

    load: OfferedLoad
    records: Sequence[RequestRecord] = field(repr=False)
    started_ns: int
    window: Window
    drained_ns: int
    loop_lag_ns: "array[int]" = field(repr=False)
    client_cpu_ratio: float | None
    notes: Mapping[str, str] = field(default_factory=dict)
    path: ClientPath = ClientPath.DIRECT
    workers: tuple[WorkerReport, ...] = ()
    early_stop: str | None = None
    backlog_s: float | None = None
