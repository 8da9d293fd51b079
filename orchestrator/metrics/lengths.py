"""How answers' lengths compare with what was asked, where the engine was told to keep to it."""

from collections.abc import Sequence

from orchestrator.domain.records import RequestRecord
from workloads.workload import Stop


def num_short(issued: Sequence[RequestRecord], stop: Stop | None) -> int | None:
    """Count completed requests that put out fewer tokens than asked; None unless the stop was forced and any asked."""
    missing = _missing_tokens(issued, stop)
    return None if missing is None else sum(tokens > 0 for tokens in missing)


def num_long(issued: Sequence[RequestRecord], stop: Stop | None) -> int | None:
    """Count completed requests that put out more tokens than asked; None unless the stop was forced and any asked."""
    missing = _missing_tokens(issued, stop)
    return None if missing is None else sum(tokens < 0 for tokens in missing)


def _missing_tokens(issued: Sequence[RequestRecord], stop: Stop | None) -> list[int] | None:
    """List asked less put out, one a completed request that asked for a length."""
    if stop != "forced":
        return None
    found = [
        one.output_tokens_asked - one.output_tokens
        for one in issued
        if one.output_tokens is not None and one.output_tokens_asked is not None
    ]
    return found or None
