"""ShareGPT: an array of `{id, conversations: [{from, value}]}`. Each answer is a request; its prompt is all before it.

The files have no times, so every arrival stands at 0, and no lengths, so a tokenizer must count them.
"""

from collections.abc import Iterable, Iterator

from workloads.readers.entries import Entry, Log, find, find_text, open_log
from workloads.readers.entry_table import trace_of
from workloads.readers.format import Format, ReadOptions, Sample
from workloads.readers.json_rows import Row, read_rows
from workloads.readers.tokens import Texts
from workloads.trace import Trace, TraceError

NAME = "sharegpt"
ANSWERING = frozenset({"gpt", "assistant", "chatgpt", "bing", "bard", "model"})
NO_TIMES = "the file has no times: every arrival stands at 0, and nothing here speaks of rates, bursts or concurrency"


def _recognises(sample: Sample) -> bool:
    is_rows = sample.kind == "json_lines" or (sample.kind == "document" and sample.head.lstrip().startswith("["))
    return is_rows and all(f'"{key}"' in sample.head for key in ("conversations", "from", "value"))


def _read(sample: Sample, options: ReadOptions) -> Trace:
    """Read one file.

    Raises:
        TraceError: no tokenizer is given, or conversations cannot be read.
    """
    if options.count_tokens is None:
        raise TraceError(
            "its texts have no token counts",
            path=sample.path,
            advice="Give the tokenizer of the model that would answer them",
        )
    log = open_log(NAME, sample, options)
    return trace_of(_entries(read_rows(sample, options, log.tally), log), log, notes=lambda: (NO_TIMES,))


def _entries(rows: Iterable[tuple[int, Row]], log: Log) -> Iterator[Entry]:
    for number, (line, row) in enumerate(rows):
        turns = row.get("conversations")
        if not isinstance(turns, list) or not all(_is_turn(turn) for turn in turns):
            log.tally.add_bad(line, "conversations must be a list of turns with a text as their value")
            continue
        yield from _requests(line, f"{number} {find_text(row, 'id')}", turns, log)


def _requests(line: int, session_id: str, turns: list[Row], log: Log) -> Iterator[Entry]:
    before: list[str] = []
    for turn in turns:
        speaker, text = str(find(turn, "from", "role")).lower(), str(_text(turn))
        if speaker in ANSWERING and before:
            yield Entry(line, 0, None, None, session_id=session_id, texts=Texts(tuple(before), text))
        elif speaker in ANSWERING:
            log.tally.dropped["answer without a prompt before it"] += 1
        before.append(text)


def _is_turn(turn: object) -> bool:
    return isinstance(turn, dict) and isinstance(_text(turn), str)


def _text(turn: Row) -> object:
    return turn["value"] if "value" in turn else turn.get("content")


FORMAT = Format(NAME, "a JSON array of {id, conversations: [{from, value}]}", _recognises, _read)
