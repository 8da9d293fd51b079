"""Which state of the engine's prefix cache a study asks for, how it was brought about, and whether it held.

Hits are of two kinds. *Carried over*: tokens of a prompt that the cache holds from before the measurement, that is from
before the first request of its warm-up. *In the traffic*: tokens that an earlier request of the same measurement
brought there; they are part of the traffic, and no policy touches them. What a chat template puts before every prompt
is shared by all and counts as in the traffic.
"""

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Discriminator, Field, FiniteFloat, Tag

from orchestrator.domain.published import Published

PlainPolicy = Literal["cold", "natural", "salted", "reset"]
Enforcement = Literal["reset", "salt", "prefix"]
PolicyName = Annotated[str, Field(pattern=r"^(cold|natural|salted|reset|warm:0\.\d+)$")]


class WarmCache(BaseModel):
    """A cache in which a stated share of the measured prompt tokens is found."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    warm: float = Field(ge=0.01, le=0.99, description="share of prompt tokens that hit")

    def __str__(self) -> str:
        """Spell the policy as records do: `warm:0.5`."""
        return f"warm:{self.warm:.6f}".rstrip("0")


def _kind(value: object) -> str:
    """Tell the two spellings apart, so that a mistake is named once."""
    return "mapping" if isinstance(value, dict | WarmCache) else "word"


CachePolicy = Annotated[
    Annotated[PlainPolicy, Tag("word")] | Annotated[WarmCache, Tag("mapping")], Discriminator(_kind)
]
"""What a study may ask of the cache.

`cold`: nothing carried over; the cache is emptied where the engine can, and prompts begin with a salt of their load.
`salted`, `reset`: cold by the one or the other alone. `natural`: left as traffic makes it; all loads send equal
prompts, so that a later load finds what an earlier one left. `warm`: carried-over tokens and those in the traffic
together are the stated share: all prompts begin with one text that the engine was sent before the measurement, as long
as that takes, and go on with a salt of their load.
"""


@dataclass(frozen=True, slots=True)
class CacheFacts:
    """What was done to the cache before a measurement, and what should come of it.

    `expected_tokens` (int64) is, for each request of the schedule, how many of its prompt's tokens the cache may hold
    by policy and traffic; exact under `warm`, at most so many under `cold`. None where nothing was promised.
    `block_tokens` is the grain in which the engine finds prefixes, None where that is not known. `has_template` says
    that the server puts text of its own around prompts.
    """

    policy: str
    enforced_by: Enforcement | None = None
    asked_hit_ratio: float | None = None
    block_tokens: int | None = None
    expected_tokens: NDArray[np.int64] | None = None
    has_template: bool = False

    @classmethod
    def of(cls, policy: str) -> "CacheFacts":
        """Say what the old spellings do, where nobody worked out what to expect."""
        acts: dict[str, Enforcement] = {"salted": "salt", "reset": "reset"}
        return cls(policy, acts.get(policy))


class CacheState(Published):
    """Which prefix-cache policy was in force and what the engine says came of it."""

    policy: PolicyName
    hit_ratio: FiniteFloat | None = Field(description="cached over prompt tokens in the window; None where unknown")
    enforced_by: Enforcement | None = Field(
        default=None,
        description="reset: cache emptied; salt: prompts of this load alone; prefix: a text sent beforehand; None: "
        "nothing was done",
    )
    asked_hit_ratio: FiniteFloat | None = Field(default=None, description="share that a warm cache was to have")
    expected_hit_ratio: FiniteFloat | None = Field(
        default=None,
        description="hits by policy and by sharing in the traffic, over the checked requests; an upper bound in a cold "
        "cache; None where nothing was promised",
    )
    checked_hit_ratio: FiniteFloat | None = Field(
        default=None, description="hits by the engine's word that were held against what was expected"
    )
    block_tokens: int | None = Field(default=None, description="grain of the engine's prefixes, tokens; None: unknown")
    holds: bool | None = Field(
        default=None, description="whether the policy held; None: nothing was promised, or the engine does not tell"
    )
