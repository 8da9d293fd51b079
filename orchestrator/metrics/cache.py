"""Whether a measurement's cache policy held: what was to hit, against what the engine says did."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from orchestrator.domain.cache import CacheFacts, CacheState
from orchestrator.domain.records import RequestRecord

TEMPLATE_TOKENS_MAX = 64  # of a system prompt that a chat template brings along; more is an error in a text's size
TOLERANCE_RATIO = 0.05  # of all prompt tokens; twice what whole blocks and a window's edge make of 200-token prompts


class _Check(NamedTuple):
    """Shares of prompt tokens over the same requests: expected to hit, hit by the engine's word, of a template."""

    expected: float
    seen: float | None
    template: float


def cache_state(facts: CacheFacts, issued: Sequence[RequestRecord], *, hit_ratio: float | None) -> CacheState:
    """Say what came of the cache policy in the window.

    The check rests on the cached tokens that the engine reports with each answer, over the completed requests for which
    it does; else on `hit_ratio`, the rise of its counters over the window, which counts the requests at its edges
    otherwise. Under `warm` the ratio must lie within 5 points of the expected one, under the cold policies at most 5
    points above. Tokens that a template adds may hit in any prompt, so they raise the upper bound.
    """
    check = _check(facts, issued, hit_ratio)
    return CacheState(
        policy=facts.policy,
        hit_ratio=hit_ratio,
        enforced_by=facts.enforced_by,
        asked_hit_ratio=facts.asked_hit_ratio,
        expected_hit_ratio=None if check is None else check.expected,
        checked_hit_ratio=None if check is None else check.seen,
        block_tokens=facts.block_tokens,
        holds=None if check is None else _holds(check, is_exact=facts.asked_hit_ratio is not None),
    )


def cache_objections(state: CacheState) -> Iterator[str]:
    """Say why the cache policy degrades a measurement; nothing where it held or nobody can tell."""
    if state.holds is False and state.checked_hit_ratio is not None and state.expected_hit_ratio is not None:
        bound = "expected" if state.asked_hit_ratio is not None else "at most expected"
        yield (
            f"cache {state.policy} did not hold: {state.checked_hit_ratio:.1%} of the prompt tokens were found in the "
            f"cache, {bound} {state.expected_hit_ratio:.1%}"
        )


def _holds(check: _Check, *, is_exact: bool) -> bool | None:
    if check.seen is None:
        return None
    is_low = is_exact and check.seen < check.expected - TOLERANCE_RATIO
    return not is_low and check.seen <= check.expected + check.template + TOLERANCE_RATIO


def _check(facts: CacheFacts, issued: Sequence[RequestRecord], hit_ratio: float | None) -> _Check | None:
    """Hold expected hits against seen ones; None where nothing was promised or no prompt's length is known.

    What is expected counts in scheduled tokens, what is seen in the server's: where prompts go as text the two differ.
    """
    expected = facts.expected_tokens
    if expected is None:
        return None
    told = _told(issued)
    known = [one for one in told or _completed(issued) if one.index < len(expected) and one.input_tokens]
    scheduled = sum(one.input_tokens or 0 for one in known)
    prompt = sum(_prompt_tokens(one) for one in known)
    if not scheduled or not prompt:
        return None
    return _Check(
        expected=float(sum(expected[one.index] for one in known)) / scheduled,
        seen=sum(one.cached_tokens_server or 0 for one in known) / prompt if told else hit_ratio,
        template=_template_tokens(known) * len(known) / prompt if facts.has_template else 0.0,
    )


def _template_tokens(known: Sequence[RequestRecord]) -> int:
    """Return at most how many tokens a template adds to each prompt: what the server counts more in every one."""
    return min(TEMPLATE_TOKENS_MAX, max(0, min(_prompt_tokens(one) - (one.input_tokens or 0) for one in known)))


def _told(issued: Sequence[RequestRecord]) -> list[RequestRecord]:
    return [
        one
        for one in _completed(issued)
        if one.cached_tokens_server is not None and one.input_tokens_server is not None
    ]


def _completed(issued: Sequence[RequestRecord]) -> list[RequestRecord]:
    return [one for one in issued if one.failure is None]


def _prompt_tokens(record: RequestRecord) -> int:
    return (record.input_tokens if record.input_tokens_server is None else record.input_tokens_server) or 0
