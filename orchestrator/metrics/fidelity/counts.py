"""Whether client and server can both be right about the tokens of an answer."""

from collections.abc import Iterator, Sequence

from orchestrator.domain.fidelity import Verdict
from orchestrator.domain.records import RequestRecord
from orchestrator.metrics import latency
from orchestrator.metrics.fidelity.findings import Finding

MISCOUNT_DEGRADED_RATIO = 0.01  # more and P99 of TPOT may rest on wrong counts


def token_count_mismatch_ratio(issued: Sequence[RequestRecord]) -> float | None:
    """Return the share of completed requests whose client and server counts differ; None without server counts."""
    counted = [one for one in issued if one.failure is None and one.output_tokens_server is not None]
    if not counted:
        return None
    return sum(not latency.token_counts_agree(one) for one in counted) / len(counted)


def judge_counts(issued: Sequence[RequestRecord]) -> Iterator[Finding]:
    """Find counts that contradict each other; fewer chunks than tokens is how some servers stream, no error."""
    miscounted = sum(_is_miscounted(one) for one in issued)
    if issued and miscounted / len(issued) > MISCOUNT_DEGRADED_RATIO:
        yield Finding(
            Verdict.DEGRADED, f"{miscounted} of {len(issued)} requests carry token counts that cannot both be right"
        )


def _is_miscounted(record: RequestRecord) -> bool:
    server = record.output_tokens_server
    if record.failure is not None or server is None:
        return False
    if record.chunk_tokens is not None:
        return not latency.token_counts_agree(record)
    return record.output_tokens_client > server
