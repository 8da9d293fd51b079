"""The texts of a request in OpenAI's form: messages or prompt, and the answer."""

from collections.abc import Iterator, Sequence

from workloads.readers.entries import find
from workloads.readers.json_rows import Row
from workloads.readers.tokens import Texts


def texts_of(row: Row, inside: Sequence[str]) -> Texts | None:
    """Return what a row says, also inside one of the named wrappers; None where it holds no prompt."""
    before, asked = _first(row, inside, "instructions", "system"), _first(row, inside, "messages", "prompt", "input")
    prompt = (*_pieces(before), *_pieces(asked))
    if not prompt:
        return None
    answer = "".join(_answers(_first(row, inside, "choices", "output")))
    return Texts(prompt, answer or None)


def _first(row: Row, inside: Sequence[str], *names: str) -> object:
    return find(row, *names, *(f"{outer}.{name}" for outer in inside for name in names))


def _pieces(value: object) -> Iterator[str]:
    """Yield texts: of a string, a list of strings, messages, or parts of a message."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from _pieces(one)
    elif isinstance(value, dict):
        yield from _pieces(find(value, "content", "text"))


def _answers(value: object) -> Iterator[str]:
    """Yield texts of choices (chat or plain) or of a response's output; only the first choice was one answer."""
    first = value[0] if isinstance(value, list) and value else None
    if isinstance(first, dict) and not {"message", "text"}.isdisjoint(first):
        yield from _pieces(find(first, "message", "text"))
    else:
        yield from _pieces(value)
