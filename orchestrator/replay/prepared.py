"""One request as it will be sent, so that nothing but a write is left for the measured path."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PreparedRequest:
    """One request: when it is due after the replay's start, its whole body, what it asks for.

    In a closed loop `offset_ns` says nothing. `input_tokens` is None where the prompt's length is unknown.
    """

    index: int
    offset_ns: int
    body: bytes
    input_tokens: int | None
    output_tokens_asked: int | None
