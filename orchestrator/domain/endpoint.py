"""Where a running engine is spoken to."""

from dataclasses import dataclass, field
from typing import Literal

Via = Literal["engine", "serve"]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server's address: `base_url` has no trailing slash and no `/v1`; the key is never shown.

    Requests go through `proxy` where one is named; its address may hold a password, so it is not shown either.
    """

    base_url: str
    model: str
    via: Via = "engine"
    key: str | None = field(default=None, repr=False)
    proxy: str | None = field(default=None, repr=False)
