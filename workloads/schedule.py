"""Schedules: who is sent when, and how long. The same workload, load and seed give the same digest anywhere."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from workloads.blocks import BlockIds, freeze
from workloads.digest import canonical_json, digest_bytes
from workloads.errors import WorkloadError
from workloads.lora import LoraMix, draw_mix
from workloads.requests import scale_requests
from workloads.traffic import Traffic, closed_traffic, open_traffic
from workloads.workload import Workload

if TYPE_CHECKING:
    from workloads.trace import Trace


class ScheduleError(WorkloadError):
    """No schedule can be built: which figures are at odds and what to change."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """Requests in sending order; all arrays read-only and of one length.

    `intended_ns` (int64) counts from the start of the load, ascending; None in a closed loop. `input_tokens` and
    `output_tokens` are int32, at least 1. `blocks` holds the ids of leading blocks of `block_tokens` tokens.
    `duration_s` is the load's length, None in a closed loop. `facts` say how all this came to be, as JSON-like values.
    `lora` says which requests ask a LoRA adapter, None where the workload names none. `sessions` (int64) are equal for
    turns of one conversation, -1 for a request in none; None where the traffic has no conversations.
    """

    intended_ns: NDArray[np.int64] | None
    input_tokens: NDArray[np.int32]
    output_tokens: NDArray[np.int32]
    blocks: BlockIds | None
    block_tokens: int | None
    duration_s: float | None
    facts: Mapping[str, object]
    lora: LoraMix | None = None
    sessions: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.input_tokens)

    @property
    def digest(self) -> str:
        """Digest arrays (little-endian) and facts."""
        times = (self.intended_ns,) if self.intended_ns is not None else ()
        blocks = (self.blocks.offsets, self.blocks.values) if self.blocks is not None else ()
        lora = (self.lora.choices,) if self.lora is not None else ()
        sessions = (self.sessions,) if self.sessions is not None else ()
        head = {
            "facts": dict(self.facts),
            "block_tokens": self.block_tokens,
            "duration_s": self.duration_s,
            "arrays": [len(times), len(blocks), *([len(lora)] if lora else [])],
            **({"has_sessions": True} if sessions else {}),
        }
        arrays = (*times, self.input_tokens, self.output_tokens, *blocks, *lora, *sessions)
        return digest_bytes(
            canonical_json(head).encode(),
            *(array.astype(array.dtype.newbyteorder("<")).tobytes() for array in arrays),
        )

    @property
    def realised_rps(self) -> float | None:
        """Return requests over duration, which chance and drift keep from the rate asked for; None in a closed loop."""
        return len(self) / self.duration_s if self.duration_s is not None else None


def build_open_schedule(
    workload: Workload, *, rate_rps: float, duration_s: float, trace: "Trace | None" = None
) -> Schedule:
    """Build an open-loop schedule: arrivals in [0, duration) at a mean of `rate_rps` requests/s.

    Made traffic sends the same requests in the same order at each rate. `trace` is the workload's trace where it
    was read already; None reads it.

    Raises:
        ScheduleError: rate or duration is not positive and finite, or nothing falls into the duration.
        TraceError: the trace cannot be read, or is too short for this load.
        UnknownProfileError: no published profile has the workload's name.
        ProfileError: the profile's file cannot be used.
        SynthesisError: knobs and model are at odds.
    """
    if not (0 < rate_rps < math.inf and 0 < duration_s < math.inf):
        raise ScheduleError(f"rate_rps and duration_s must be positive and finite, seen {rate_rps} and {duration_s}")
    traffic = open_traffic(workload, rate_rps=rate_rps, duration_s=duration_s, trace=trace)
    if len(traffic.requests) == 0:
        raise ScheduleError(f"{rate_rps:g} requests/s over {duration_s:g} s sends nothing; lengthen the load")
    return _finish(workload, traffic, rate_rps=rate_rps, duration_s=duration_s)


def build_closed_schedule(workload: Workload, *, num_requests: int, trace: "Trace | None" = None) -> Schedule:
    """Build a closed-loop schedule: the first `num_requests` requests in order, without times.

    Raises:
        ScheduleError: fewer than one request is asked for.
        TraceError: the trace cannot be read, or holds fewer requests.
        UnknownProfileError: no published profile has the workload's name.
        ProfileError: the profile's file cannot be used.
        SynthesisError: knobs and model are at odds.
    """
    if num_requests < 1:
        raise ScheduleError(f"num_requests must be at least 1, seen {num_requests}")
    return _finish(workload, closed_traffic(workload, num_requests=num_requests, trace=trace))


def _finish(
    workload: Workload, traffic: Traffic, *, rate_rps: float | None = None, duration_s: float | None = None
) -> Schedule:
    requests, scale_facts = scale_requests(traffic.requests, workload.lengths)
    facts = {
        **traffic.facts,
        "rate_rps": float(rate_rps) if rate_rps is not None else None,
        "lengths": scale_facts,
        "content": workload.content,
        "seed": workload.seed,
        **({"lora": workload.lora} if workload.lora else {}),
    }
    return Schedule(
        intended_ns=freeze(traffic.arrival_ns) if traffic.arrival_ns is not None else None,
        input_tokens=requests.input_tokens,
        output_tokens=requests.output_tokens,
        blocks=requests.blocks,
        block_tokens=requests.block_tokens,
        duration_s=float(duration_s) if duration_s is not None else None,
        facts=facts,
        lora=draw_mix(workload.lora, len(requests), workload.seed) if workload.lora else None,
        sessions=freeze(requests.sessions) if requests.sessions is not None else None,
    )
