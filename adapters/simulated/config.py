"""The simulated engine's settings: the flags of its own server, which has the same names and defaults."""

from pydantic import Field, FiniteFloat

from adapters.protocol import EngineConfig
from adapters.simulated.options import MAX_CHUNKS_PER_TOKEN, FailureKind, FirstChunk, OutputIds, UsageMode


class SimulatedConfig(EngineConfig):
    """Scripted timings and injected failures; `tp` and `pp` are placed and recorded, and change no timing."""

    ttft_s: FiniteFloat = Field(default=0.05, ge=0, description="seconds from receipt (or from leaving the queue)")
    itl_s: FiniteFloat = Field(default=0.01, ge=0, description="seconds between chunks, one token each by default")
    max_running: int | None = Field(default=None, ge=1, description="requests at one time; others wait in order")
    slowdown_per_running: FiniteFloat = Field(
        default=0.0, ge=0, description="share by which each other running request stretches TTFT and ITL"
    )

    tokens_per_chunk: int = Field(default=1, ge=1, description="tokens in each chunk, as with speculation")
    chunks_per_token: int = Field(default=1, ge=1, le=MAX_CHUNKS_PER_TOKEN, description="chunks that carry one token")
    first_chunk: FirstChunk = Field(default="none", description="a chunk without text sent before any token")
    reasoning_tokens: int = Field(default=0, ge=0, description="first tokens sent as reasoning_content, chat only")
    tool_call_tokens: int = Field(default=0, ge=0, description="last tokens sent as a tool call's arguments, chat only")
    output_ids: OutputIds = Field(default="never", description="whether chunks carry the ids of their tokens")
    keepalive_s: FiniteFloat | None = Field(default=None, gt=0, description="seconds between comments in a stream")
    usage: UsageMode = Field(default="on_request", description="when and where a stream carries usage")
    eos_after_tokens: int | None = Field(
        default=None, ge=1, description="length at which a reply ends by itself unless ignore_eos is set"
    )
    reply_tokens: int | None = Field(
        default=None, ge=1, description="length of every reply, whatever was asked: a server that does not obey"
    )
    max_model_len: int = Field(default=32768, ge=2, description="tokens of the longest request, prompt and output")
    kv_tokens: int = Field(default=131072, ge=1, description="tokens in the KV pool that utilisation is a share of")

    lora_modules: str | None = Field(
        default=None, min_length=1, description="names of adapters that it answers to, separated by commas"
    )
    voices: str | None = Field(
        default=None, description="JSON file of further models, each with its own timing, chunks, failure or tape"
    )
    script: str | None = Field(default=None, description="JSON lines: ttft_s, itl_s, tokens_per_chunk, failure")
    log: str | None = Field(default=None, description="file for the server's own send log, JSON lines")

    fail_every: int | None = Field(default=None, ge=1, description="each k-th request fails")
    fail_kind: FailureKind = "status"
    fail_status: int = Field(default=500, ge=400, le=599, description="HTTP status of fail_kind status")
    fail_after_tokens: int = Field(default=0, ge=0, description="tokens sent before a failure inside the answer")

    start_delay_s: FiniteFloat = Field(default=0.0, ge=0, description="seconds before it listens")
    unhealthy_s: FiniteFloat = Field(default=0.0, ge=0, description="seconds of listening with a 503 health check")
    crash_on_start: str | None = Field(default=None, description="last line of the log before it ends at once")
    crash_after_requests: int | None = Field(default=None, ge=0, description="requests answered before it crashes")
    grow_bytes_per_request: int = Field(default=0, ge=0, description="resident bytes kept for ever by each request")
