"""From what load workers left to one log, and the records of requests whose worker was lost."""

import socket
from array import array
from collections.abc import Iterator, Sequence

from orchestrator.domain.load import OfferedLoad
from orchestrator.domain.records import ClientPath, ReplayLog, RequestFailure, RequestRecord, Window
from orchestrator.replay.record_rows import Row, to_row
from orchestrator.replay.workers.member import Member

LOST = "load worker lost"
UNSENT = "load worker too late to send it within the window"


def merge(members: Sequence[Member], load: OfferedLoad, *, start_ns: int, window: Window, now_ns: int) -> ReplayLog:
    """Return one log, still without records, times on our clock. The window ends where the first worker's does."""
    done = [(one, one.facts) for one in members if one.facts is not None]
    lags = array("q")
    for _, facts in done:
        lags.frombytes(facts["loop_lag_ns"])
    cpu_ratios = [facts["client_cpu_ratio"] for _, facts in done if facts["client_cpu_ratio"] is not None]
    stops = [facts["early_stop"] for _, facts in done if facts["early_stop"] is not None]
    return ReplayLog(
        load=load,
        records=(),
        started_ns=start_ns,
        window=Window(window.start_ns, end_of(members, window)),
        drained_ns=max([facts["drained_ns"] - one.clock_offset_ns for one, facts in done], default=now_ns),
        loop_lag_ns=lags,
        client_cpu_ratio=max(cpu_ratios, default=None),
        notes={
            "coordinator.host": socket.gethostname(),
            **{f"{one.name}.{key}": value for one, facts in done for key, value in facts["notes"].items()},
        },
        path=ClientPath(done[0][1]["path"]) if done else ClientPath.DIRECT,
        workers=tuple(one.report(start_ns) for one in members),
        early_stop=stops[0] if stops else None,
    )


def end_of(members: Sequence[Member], window: Window) -> int:
    """Return when the window ended for the first of the workers, on our clock."""
    ends_ns: list[int] = [one.facts["window"][1] - one.clock_offset_ns for one in members if one.facts is not None]
    return min([window.end_ns, *ends_ns])


def missing_rows(member: Member, why: str, *, start_ns: int, end_ns: int, now_ns: int) -> Iterator[Row]:
    """Yield rows for requests that a worker was given and has no record of: cancelled, never taken for sent.

    Nobody knows whether and when those of a lost worker were sent, so they count as dispatched when the loss was seen.
    In a closed loop as many were on their way as the worker had users.
    """
    given = list(member.outstanding.items())
    for index, (offset_ns, input_tokens, asked) in given[: member.users] if member.users else given:
        intended_ns = now_ns if member.users else start_ns + offset_ns
        if intended_ns < end_ns:
            noticed_ns = max(now_ns, intended_ns)
            yield to_row(
                RequestRecord(
                    index=index,
                    intended_ns=intended_ns,
                    dispatched_ns=noticed_ns,
                    sent_ns=None,
                    chunk_ns=array("q"),
                    end_ns=noticed_ns,
                    input_tokens=input_tokens,
                    output_tokens_asked=asked,
                    failure=RequestFailure.CANCELLED,
                    failure_detail=why,
                )
            )
