"""Further models of one server, each with a way to answer of its own: many scripts are played by one process. Pure."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from adapters.simulated.options import Options, impossible
from adapters.simulated.script import KEYS, NS_PER_S, Pacing, read_pacing
from adapters.simulated.tape import Tape

CHOSEN = {
    "chunks_per_token",
    "first_chunk",
    "reasoning_tokens",
    "tool_call_tokens",
    "output_ids",
    "keepalive_s",
    "usage",
    "eos_after_tokens",
    "reply_tokens",
}
PACED = KEYS - {"request_id"}
TAPED = {field.name for field in fields(Tape)} - {"body", "ttft_ns", "gap_ns"} | {"path", "text", "ttft_s", "gap_s"}


@dataclass(frozen=True, slots=True)
class Voice:
    """How one model answers: by options and pacing, or by playing a tape."""

    options: Options
    pacing: Pacing
    tape: Tape | None = None


def load(options: Options) -> dict[str, Voice]:
    """Read the file of voices, an object of model names, if there is one.

    Raises:
        ValueError: it is no such object, has an unknown key or an impossible value; names file, model and key.
        OSError: it or a tape cannot be read.
    """
    if options.voices is None:
        return {}
    try:
        rows = json.loads(Path(options.voices).read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise ValueError(f"{options.voices}: expected one JSON object: {error}") from error
    if not isinstance(rows, dict):
        raise ValueError(f"{options.voices}: expected an object of model names, saw {type(rows).__name__}")  # noqa: TRY004 - it is data
    return {name: _read_voice(row, options, f"{options.voices}: {name}") for name, row in rows.items()}


def _read_voice(row: object, options: Options, where: str) -> Voice:
    known = CHOSEN | PACED | {"tape"}
    if not isinstance(row, dict) or row.keys() - known:
        raise ValueError(f"{where}: expected an object with keys among {', '.join(sorted(known))}, saw {row!r:.80}")
    chosen = replace(options, **{name: row[name] for name in CHOSEN & row.keys()})
    problem = impossible(chosen)
    if problem is not None:
        raise ValueError(f"{where}: {problem}")
    pacing = read_pacing({name: row[name] for name in PACED & row.keys()}, chosen, where)
    return Voice(chosen, pacing, _read_tape(row["tape"], where) if "tape" in row else None)


def _read_tape(row: object, where: str) -> Tape:
    if not isinstance(row, dict) or row.keys() - TAPED or not row.keys() & {"path", "text"}:
        expected = f"a path or a text, and keys among {', '.join(sorted(TAPED))}"
        raise ValueError(f"{where}: tape: expected {expected}, saw {row!r:.80}")
    body = Path(row["path"]).read_bytes() if "path" in row else row["text"].encode("utf-8", "surrogateescape")
    sent = {name: value for name, value in row.items() if name not in {"path", "text", "ttft_s", "gap_s"}}
    return Tape(body, ttft_ns=_ns(row, "ttft_s", where), gap_ns=_ns(row, "gap_s", where), **sent)


def _ns(row: Mapping[str, Any], key: str, where: str) -> int:
    seconds = row.get(key, 0)
    if not isinstance(seconds, int | float) or not 0 <= seconds < float("inf"):
        raise ValueError(f"{where}: tape: {key}: expected seconds of at least 0, saw {seconds!r}")
    return round(seconds * NS_PER_S)
