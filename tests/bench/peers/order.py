"""What one run of a load generator is told, and what it says afterwards. The same nouns for peers and for ours."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

INPUT_TOKENS, OUTPUT_TOKENS = 32, 16
TTFT_S, ITL_S = 0.020, 0.005


@dataclass(frozen=True, slots=True)
class Order:
    """One run: `count` requests at a constant rate; results go into `folder`, which is empty."""

    url: str
    model: str
    rate_rps: float
    count: int
    folder: Path
    tokenizer: Path


@dataclass(frozen=True, slots=True)
class Reported:
    """What a client says: times to first token in the order of its own starts, failures counted apart."""

    ttft_s: list[float]
    num_failed: int


@dataclass(frozen=True, slots=True)
class Client:
    """One load generator. `command` spells a run, `read` finds its result; `quick` spells a run of ten requests."""

    name: str
    version: str
    command: Callable[[Order], list[str]]
    read: Callable[[Order], Reported]
    quick: Callable[[Order], list[str]]
    env: Callable[[Order], Mapping[str, str]]
