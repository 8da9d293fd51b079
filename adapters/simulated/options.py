"""The simulated server's flags, one field each, and the command line made from them.

Standard library only: the server runs in interpreters that hold nothing of ours.
"""

import argparse
from dataclasses import dataclass, fields
from types import UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

FailureKind = Literal["status", "stream_error", "cut", "hang_before_headers", "hang_after_headers"]
FirstChunk = Literal["none", "empty", "role"]
UsageMode = Literal["on_request", "never", "always", "with_last", "with_first", "each_chunk"]
OutputIds = Literal["never", "each_chunk"]
MAX_CHUNKS_PER_TOKEN = 6


@dataclass(frozen=True, slots=True)
class Options:
    """What the server was asked to do; docs of each flag are in `SimulatedConfig`, which has the same fields."""

    host: str = "127.0.0.1"
    port: int = 8000
    model: str = "simulated"
    tp: int = 1
    pp: int = 1
    ttft_s: float = 0.05
    itl_s: float = 0.01
    max_running: int | None = None
    slowdown_per_running: float = 0.0
    tokens_per_chunk: int = 1
    chunks_per_token: int = 1
    first_chunk: FirstChunk = "none"
    reasoning_tokens: int = 0
    tool_call_tokens: int = 0
    output_ids: OutputIds = "never"
    keepalive_s: float | None = None
    usage: UsageMode = "on_request"
    eos_after_tokens: int | None = None
    reply_tokens: int | None = None
    max_model_len: int = 32768
    kv_tokens: int = 131072
    lora_modules: str | None = None
    voices: str | None = None
    script: str | None = None
    log: str | None = None
    fail_every: int | None = None
    fail_kind: FailureKind = "status"
    fail_status: int = 500
    fail_after_tokens: int = 0
    start_delay_s: float = 0.0
    unhealthy_s: float = 0.0
    crash_on_start: str | None = None
    crash_after_requests: int | None = None
    grow_bytes_per_request: int = 0


def served_models(options: Options) -> tuple[str, ...]:
    """Name the model and the adapters that requests may ask."""
    return (options.model, *(options.lora_modules.split(",") if options.lora_modules else ()))


def flag_name(field_name: str) -> str:
    """Spell a field as its command-line flag."""
    return "--" + field_name.replace("_", "-")


def _flag_type(hint: Any) -> tuple[type, tuple[str, ...] | None]:  # noqa: ANN401 - a type hint has no type of its own
    if get_origin(hint) is Literal:
        return str, get_args(hint)
    if get_origin(hint) is UnionType:
        return next(arg for arg in get_args(hint) if arg is not type(None)), None
    return hint, None


def parse(arguments: list[str]) -> Options:
    """Read the command line.

    Raises:
        SystemExit: unknown flag or impossible value, with argparse's message on stderr.
    """
    parser = argparse.ArgumentParser(prog="adapters.simulated.server", description=__doc__, allow_abbrev=False)
    hints = get_type_hints(Options)
    for field in fields(Options):
        kind, choices = _flag_type(hints[field.name])
        parser.add_argument(flag_name(field.name), dest=field.name, type=kind, choices=choices, default=field.default)
    options = Options(**vars(parser.parse_args(arguments)))
    problem = impossible(options)
    if problem is not None:
        parser.error(problem)
    return options


def impossible(options: Options) -> str | None:
    """Say in one sentence what makes the options impossible, None when they are possible."""
    at_least = {"max_running": 1, "tokens_per_chunk": 1, "chunks_per_token": 1, "fail_every": 1, "kv_tokens": 1}
    for field in fields(options):
        value = getattr(options, field.name)
        least = at_least.get(field.name, 0)
        if isinstance(value, int | float) and not least <= value < float("inf"):
            return f"{flag_name(field.name)} {value}: expected a finite number of at least {least}"
    if options.chunks_per_token > MAX_CHUNKS_PER_TOKEN:
        return f"--chunks-per-token {options.chunks_per_token}: expected at most {MAX_CHUNKS_PER_TOKEN}"
    if options.tokens_per_chunk > 1 and options.chunks_per_token > 1:
        return "--tokens-per-chunk and --chunks-per-token exclude each other; one of them must be 1"
    return None
