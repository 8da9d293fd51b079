"""Conversations: turns that follow each other, with time to think in between and a context that grows."""

from pydantic import Field

from workloads.model.frozen import Frozen
from workloads.model.lengths import LengthModel


class SessionModel(Frozen):
    """Sessions begin as the arrival model says. Each turn's prompt is the whole context before it and new tokens.

    `turns` counts requests of a session; `think_s` is the time from an answer to the next request; `new_tokens` is what
    a turn after the first adds to the context. `first_tokens` is the length of a session's first prompt; None takes
    the model's `input_tokens`, which where they were measured over all turns are too long for it.
    """

    turns: LengthModel
    think_s: LengthModel
    new_tokens: LengthModel
    max_context_tokens: int = Field(ge=1)
    first_tokens: LengthModel | None = None
