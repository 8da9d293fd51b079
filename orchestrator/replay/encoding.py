"""A schedule's requests, each encoded when it is asked for, so that a long schedule need not lie in memory."""

from collections.abc import Iterator, Sequence
from typing import Protocol, overload

import numpy as np

from adapters.openai import Dialect, encode_request
from orchestrator.domain.endpoint import Endpoint
from orchestrator.replay.prepared import PreparedRequest
from workloads.schedule import Schedule


class PromptSource(Protocol):
    """Makes the prompt of a schedule's request; `salt` changes the content and keeps what is shared."""

    def token_ids(self, schedule: Schedule, index: int, *, salt: str) -> Sequence[int]:
        """Return the prompt as token ids."""
        ...

    def text(self, schedule: Schedule, index: int, *, salt: str) -> str:
        """Return the prompt as text."""
        ...


class EncodedRequests(Sequence[PreparedRequest]):
    """The requests of a schedule for one endpoint in order of time; encoding takes place at each access.

    As token ids where the route and the server take them. Offsets are 0 where the schedule has no times, as in a closed
    loop. A request for a LoRA adapter names it as its model.
    """

    def __init__(
        self,
        schedule: Schedule,
        prompts: PromptSource,
        *,
        endpoint: Endpoint,
        dialect: Dialect,
        salt: str,
        seed: int = 0,
        forces_length: bool = True,
    ) -> None:
        times = schedule.intended_ns
        self._order = np.arange(len(schedule)) if times is None else np.argsort(times, kind="stable")
        self._schedule = schedule
        self._make = prompts.token_ids if dialect.takes_token_ids else prompts.text
        self._model = endpoint.model
        self._dialect = dialect
        self._salt = salt
        self._seed = seed
        self._forces_length = forces_length

    def __len__(self) -> int:
        return len(self._order)

    def __iter__(self) -> Iterator[PreparedRequest]:
        return (self._encode(int(index)) for index in self._order)

    @overload
    def __getitem__(self, place: int) -> PreparedRequest: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[PreparedRequest, ...]: ...

    def __getitem__(self, place: int | slice) -> PreparedRequest | tuple[PreparedRequest, ...]:
        if isinstance(place, slice):
            return tuple(self._encode(int(index)) for index in self._order[place])
        return self._encode(int(self._order[place]))

    def _encode(self, index: int) -> PreparedRequest:
        schedule = self._schedule
        times, lora = schedule.intended_ns, schedule.lora
        return PreparedRequest(
            index=index,
            offset_ns=0 if times is None else int(times[index]),
            body=encode_request(
                self._make(schedule, index, salt=self._salt),
                (lora.of(index) if lora is not None else None) or self._model,
                dialect=self._dialect,
                max_tokens=int(schedule.output_tokens[index]),
                seed=self._seed,
                forces_length=self._forces_length,
            ),
            input_tokens=int(schedule.input_tokens[index]),
            output_tokens_asked=int(schedule.output_tokens[index]),
        )
