"""What a look at a replay finds: how bad it is, and the sentence that says so. Holds no limit and no formula."""

from collections.abc import Iterable
from typing import NamedTuple

from orchestrator.domain.fidelity import Verdict

_SEVERITY = (Verdict.SOUND, Verdict.DEGRADED, Verdict.INVALID)


class Finding(NamedTuple):
    """One thing that spoils the figures; `reason` says what was expected, what was seen and, where known, why."""

    verdict: Verdict
    reason: str


def worst(findings: Iterable[Finding]) -> Verdict:
    """Return the gravest verdict among findings; sound where there are none."""
    return max((one.verdict for one in findings), key=_SEVERITY.index, default=Verdict.SOUND)
