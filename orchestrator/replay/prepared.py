"""Requests encoded before the window, so that nothing but a write is left for the measured path."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from adapters.openai import Dialect, encode_request
from orchestrator.domain.endpoint import Endpoint
from workloads.schedule import Schedule


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


class PromptSource(Protocol):
    """Makes the prompt of a schedule's request; `salt` changes the content and keeps what is shared."""

    def token_ids(self, schedule: Schedule, index: int, *, salt: str) -> Sequence[int]:
        """Return the prompt as token ids."""
        ...

    def text(self, schedule: Schedule, index: int, *, salt: str) -> str:
        """Return the prompt as text."""
        ...


def prepare(
    schedule: Schedule,
    prompts: PromptSource,
    *,
    endpoint: Endpoint,
    dialect: Dialect,
    salt: str,
    seed: int = 0,
    forces_length: bool = True,
) -> tuple[PreparedRequest, ...]:
    """Encode every request of a schedule for one endpoint: as token ids where the route and the server take them.

    Offsets are 0 where the schedule has no times, as in a closed loop. A request for a LoRA adapter names it as its
    model.
    """
    times, lora = schedule.intended_ns, schedule.lora
    make = prompts.token_ids if dialect.takes_token_ids else prompts.text
    return tuple(
        PreparedRequest(
            index=index,
            offset_ns=0 if times is None else int(times[index]),
            body=encode_request(
                make(schedule, index, salt=salt),
                (lora.of(index) if lora is not None else None) or endpoint.model,
                dialect=dialect,
                max_tokens=int(schedule.output_tokens[index]),
                seed=seed,
                forces_length=forces_length,
            ),
            input_tokens=int(schedule.input_tokens[index]),
            output_tokens_asked=int(schedule.output_tokens[index]),
        )
        for index in range(len(schedule))
    )
