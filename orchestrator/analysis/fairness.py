"""What is not equal between candidates and why it matters. Pure: conditions in, differences out."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

UNKNOWN = "unknown"

REASONS: Mapping[str, str] = {
    "weights": "other weights are another model: neither speed nor quality compare",
    "tokenizer": "another tokenizer makes other prompts of the same text, and other tokens of the same answer",
    "weights_precision": "fewer bits per weight move fewer bytes: that is a gain of the format, not of the engine",
    "compute_precision": "another precision of activations is another amount of work",
    "kv_precision": "fewer bits per cached value hold more tokens and move fewer bytes",
    "context_tokens": "a longer possible request reserves memory that the others give to concurrency",
    "prompt_form": "text is tokenised by the server within the measured time, token ids are not",
    "output_length": "answers that end by themselves are shorter or longer than those that are forced",
    "sampling": "another way to choose tokens is other work and another answer",
    "hardware": "another machine is another price",
    "cores": "another number of cores is another price",
    "traffic": "other requests are another question",
    "cache_policy": "prefixes that one candidate keeps and another must compute are work not done",
    "via": "a proxy in between adds its own time",
}
"""Each condition that must be equal, with what a difference does to the comparison."""


class Difference(NamedTuple):
    """One condition that is not equal, or not known to be, with each candidate's value."""

    what: str
    values: Mapping[str, str]
    why: str


def differences(conditions: Mapping[str, Mapping[str, str]]) -> tuple[Difference, ...]:
    """Compare candidates condition by condition, in the order of `REASONS`; what is unknown counts as not equal.

    Raises:
        ValueError: a condition that has no reason to be there.
    """
    _check_known(list(conditions.values()))
    found = []
    for what, why in REASONS.items():
        values = {name: one.get(what, UNKNOWN) for name, one in conditions.items()}
        if len(set(values.values())) > 1 or (UNKNOWN in values.values() and len(values) > 1):
            found.append(Difference(what, values, why))
    return tuple(found)


def _check_known(conditions: Sequence[Mapping[str, str]]) -> None:
    strange = sorted({key for one in conditions for key in one} - set(REASONS))
    if strange:
        raise ValueError(f"conditions without a reason: {', '.join(strange)}; known: {', '.join(REASONS)}")
