"""Which route of the OpenAI dialect a server is spoken to on, and what that server can do."""

from dataclasses import dataclass, field
from typing import Literal

from adapters.openai.memo import EventMemo
from adapters.openai.stream import StreamScanner
from adapters.protocol import Capabilities

Route = Literal["completions", "chat"]

PATHS: dict[Route, str] = {"completions": "/v1/completions", "chat": "/v1/chat/completions"}


@dataclass(frozen=True, slots=True)
class Dialect:
    """One way to speak to one server: its route and its capabilities."""

    route: Route = "completions"
    capabilities: Capabilities = field(default_factory=Capabilities)

    @property
    def path(self) -> str:
        """Return the route's path, to be put behind a base URL without `/v1`."""
        return PATHS[self.route]

    @property
    def takes_token_ids(self) -> bool:
        """Say whether a prompt may be sent as token ids: the chat route never takes them."""
        return self.route == "completions" and self.capabilities.accepts_token_prompts

    def scanner(self, memo: EventMemo | None = None) -> StreamScanner:
        """Return a scanner for one answer; those with one memo share what they learn of the server's events."""
        return StreamScanner(sends_done=self.capabilities.sends_done, memo=memo)
