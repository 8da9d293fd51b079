"""When each chunk of each reply is due: flags, or a script with one JSON line per request. Pure, no clock."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, get_args

from adapters.simulated.options import FailureKind, Options

NS_PER_S = 1_000_000_000
KEYS = {"request_id", "ttft_s", "itl_s", "tokens_per_chunk", "failure"}


@dataclass(frozen=True, slots=True)
class Failure:
    """How a reply fails; `after_tokens` is how many tokens go out before, where the kind lets any."""

    kind: FailureKind
    status: int = 500
    after_tokens: int = 0
    retry_after_s: int | None = None


@dataclass(frozen=True, slots=True)
class Pacing:
    """One reply's timing: nanoseconds to the first chunk, then gaps; the last gap and size continue for ever."""

    ttft_ns: int
    gaps_ns: tuple[int, ...]
    chunk_tokens: tuple[int, ...]
    pieces: int = 1
    failure: Failure | None = None


class Chunk(NamedTuple):
    """One chunk to send: the gap before it, its text, how many tokens begin in it, whether it is the last."""

    gap_ns: int
    text: str
    tokens: int
    is_last: bool


def chunks(pacing: Pacing, output_tokens: int) -> Iterator[Chunk]:
    """Cut a reply of `output_tokens` into chunks; the first gap is the time to the first token."""
    if pacing.pieces > 1:
        yield from _pieces(pacing, output_tokens)
        return
    sent = 0
    for number in count():
        size = min(_nth(pacing.chunk_tokens, number), output_tokens - sent)
        text = "".join(token_text(index) for index in range(sent, sent + size))
        sent += size
        gap_ns = _nth(pacing.gaps_ns, number - 1) if number else pacing.ttft_ns
        yield Chunk(gap_ns, text, size, is_last=sent == output_tokens)
        if sent == output_tokens:
            return


def _pieces(pacing: Pacing, output_tokens: int) -> Iterator[Chunk]:
    """Spread each token over several chunks, evenly over its gap; a token counts where it begins."""
    for index in range(output_tokens):
        text = token_text(index)
        cuts = [len(text) * piece // pacing.pieces for piece in range(pacing.pieces + 1)]
        step_ns = _nth(pacing.gaps_ns, index) // pacing.pieces
        lead_ns = _lead_ns(pacing, index)
        for piece in range(pacing.pieces):
            is_last = index == output_tokens - 1 and piece == pacing.pieces - 1
            yield Chunk(step_ns if piece else lead_ns, text[cuts[piece] : cuts[piece + 1]], int(not piece), is_last)


def _lead_ns(pacing: Pacing, index: int) -> int:
    if index == 0:
        return pacing.ttft_ns
    gap_ns = _nth(pacing.gaps_ns, index - 1)
    return gap_ns - gap_ns // pacing.pieces * (pacing.pieces - 1)


def token_text(index: int) -> str:
    """Spell output token `index`: one whitespace word, so that counting words counts tokens."""
    return f" token{index}"


def _nth(values: Sequence[int], index: int) -> int:
    return values[min(index, len(values) - 1)]


class Script:
    """Gives each request its pacing: its own line by request id, else by arrival order, else the flags."""

    def __init__(self, options: Options, lines: Sequence[tuple[str | None, Pacing]] = ()) -> None:
        self._options = options
        self._by_id = {request_id: pacing for request_id, pacing in lines if request_id is not None}
        self._in_order = [pacing for request_id, pacing in lines if request_id is None]
        self._default = from_flags(options)

    def pacing(self, index: int, request_id: str | None) -> Pacing:
        """Return the pacing of the request that arrived as number `index`, counted from 0."""
        if request_id in self._by_id:
            return self._by_id[request_id]
        if index < len(self._in_order):
            return self._in_order[index]
        every = self._options.fail_every
        if every is None or (index + 1) % every:
            return self._default
        failure = Failure(self._options.fail_kind, self._options.fail_status, self._options.fail_after_tokens)
        return replace(self._default, failure=failure)


def from_flags(options: Options) -> Pacing:
    """Return the pacing that the flags ask for."""
    return Pacing(
        ttft_ns=round(options.ttft_s * NS_PER_S),
        gaps_ns=(round(options.itl_s * NS_PER_S),),
        chunk_tokens=(options.tokens_per_chunk,),
        pieces=options.chunks_per_token,
    )


def load(options: Options) -> Script:
    """Read the script file, if there is one.

    Raises:
        ValueError: a line is no JSON object, has an unknown key or an impossible value; names file, line and key.
        OSError: the file cannot be read.
    """
    if options.script is None:
        return Script(options)
    lines = Path(options.script).read_text(encoding="utf-8").splitlines()
    return Script(options, [_read_line(line, options, number) for number, line in enumerate(lines, 1) if line.strip()])


def _read_line(line: str, options: Options, number: int) -> tuple[str | None, Pacing]:
    where = f"{options.script}:{number}"
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"{where}: expected one JSON object a line, saw {line[:80]!r}") from error
    if not isinstance(row, dict) or row.keys() - KEYS:
        raise ValueError(f"{where}: expected an object with keys among {', '.join(sorted(KEYS))}, saw {line[:80]!r}")
    return row.get("request_id"), read_pacing(row, options, where)


def read_pacing(row: Mapping[str, Any], options: Options, where: str) -> Pacing:
    """Read a reply's pacing from one row of a script; what the row leaves out is as the options say.

    Raises:
        ValueError: a value is impossible; names `where` and the key.
    """
    ttft_s = _numbers(row.get("ttft_s", options.ttft_s), where, key="ttft_s")
    itl_s = _numbers(row.get("itl_s", options.itl_s), where, key="itl_s")
    sizes = _numbers(row.get("tokens_per_chunk", options.tokens_per_chunk), where, key="tokens_per_chunk")
    if any(size < 1 or size != int(size) for size in sizes):
        raise ValueError(f"{where}: tokens_per_chunk: expected whole numbers of at least 1, saw {sizes}")
    if options.chunks_per_token > 1 and max(sizes) > 1:
        raise ValueError(f"{where}: tokens_per_chunk: expected 1 beside --chunks-per-token, saw {sizes}")
    return Pacing(
        ttft_ns=round(ttft_s[0] * NS_PER_S),
        gaps_ns=tuple(round(gap_s * NS_PER_S) for gap_s in itl_s),
        chunk_tokens=tuple(int(size) for size in sizes),
        pieces=options.chunks_per_token,
        failure=_read_failure(row.get("failure"), where),
    )


def _numbers(value: object, where: str, *, key: str) -> list[float]:
    values = value if isinstance(value, list) else [value]
    numbers = [float(item) for item in values if isinstance(item, int | float) and 0 <= item < float("inf")]
    if not numbers or len(numbers) != len(values):
        raise ValueError(f"{where}: {key}: expected numbers of at least 0, saw {value!r}")
    return numbers


def _read_failure(value: object, where: str) -> Failure | None:
    if value is None:
        return None
    row: dict[str, Any] = value if isinstance(value, dict) else {"kind": value}
    kinds = get_args(FailureKind)
    if row.get("kind") not in kinds or row.keys() - {"kind", "status", "after_tokens", "retry_after_s"}:
        raise ValueError(f"{where}: failure: expected a kind among {', '.join(kinds)}, saw {value!r}")
    return Failure(
        row["kind"],
        status=_whole(row.get("status", 500), f"{where}: failure.status"),
        after_tokens=_whole(row.get("after_tokens", 0), f"{where}: failure.after_tokens"),
        retry_after_s=_whole(row["retry_after_s"], f"{where}: failure.retry_after_s")
        if "retry_after_s" in row
        else None,
    )


def _whole(value: object, where: str) -> int:
    if isinstance(value, int) and value >= 0:
        return value
    raise ValueError(f"{where}: expected a whole number of at least 0, saw {value!r}")
