"""Replays a piece of a trace and its synthetic twin on a server that is there, and compares what it made of both.

The piece is replayed several times and tells how far apart repeats of one thing lie; the twin comes in their middle,
so that a drift of the machine does not count against it.
"""

import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from secrets import token_bytes

from orchestrator.analysis.twins import Nearness, Samples, compare_replays, samples_of
from orchestrator.domain.clock import SystemClock
from orchestrator.domain.errors import MeasurementRefusedError
from orchestrator.domain.fidelity import Verdict
from orchestrator.domain.load import OpenLoad
from orchestrator.domain.study import WindowSpec
from orchestrator.trials.remote import visit
from orchestrator.trials.traffic import Target
from workloads.likeness.twins import make_twin
from workloads.profile.whole import profile_trace
from workloads.readers.anonymous import MIN_SALT_BYTES, write_anonymous
from workloads.trace import NS_PER_S, Trace, TraceError
from workloads.workload import LengthScale, TraceSource, Workload

TIMEOUT_S = 120.0


@dataclass(frozen=True, slots=True)
class TwinReplay:
    """What a server made of a trace and its twin."""

    url: str
    server: str
    repeats: int
    figures: tuple[Nearness, ...]

    def to_json(self) -> dict[str, object]:
        """Return all of it as JSON-like values."""
        figures = [{**asdict(one), "limit": one.limit, "passes": one.passes} for one in self.figures]
        return {"server": self.server, "repeats": self.repeats, "figures": figures}


@dataclass(frozen=True, slots=True)
class Bench:
    """The server and how traffic is fitted to it: lengths scaled, time compressed."""

    url: str
    target: Target
    server: str
    lengths: LengthScale
    time_factor: float

    def replay(self, trace: Trace) -> Samples:
        """Replay a whole trace once.

        Raises:
            MeasurementRefusedError: the client was not sound, or a request failed.
        """
        span_s = (trace.span_ns + trace.facts.grid_ns) / NS_PER_S
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "trace.parquet"
            write_anonymous(trace, path, salt=token_bytes(MIN_SALT_BYTES))
            seen = visit(
                self.target,
                OpenLoad(rate_rps=len(trace) / span_s * self.time_factor),
                server=self.server,
                workload=Workload(source=TraceSource(path=path), lengths=self.lengths),
                window=WindowSpec(
                    warmup_s=0,
                    measure_s=span_s / self.time_factor,
                    request_timeout_s=TIMEOUT_S,
                    stop_when_saturated=False,  # both sides must show the same span of traffic
                ),
                slo=None,
                clock=SystemClock(),
            )
        fidelity = seen.measurement.fidelity
        if fidelity.verdict is not Verdict.SOUND or seen.measurement.num_failed:
            raise MeasurementRefusedError(
                f"expected a sound client and no failed request, seen {fidelity.verdict} and "
                f"{seen.measurement.num_failed} failed; lower the load (--time-factor, --length-factor)"
            )
        return samples_of(seen.log)


def replay_twin(piece: Trace, bench: Bench, *, repeats: int, seed: int, say: Callable[[str], None]) -> TwinReplay:
    """Profile a piece of a trace, make its twin, and replay both.

    Raises:
        MeasurementRefusedError: a replay's client was not sound, or a request failed.
        TraceError: no request of the piece was answered.
    """
    traffic = profile_trace(piece, seed=seed).traffic
    if traffic is None:
        raise TraceError("no request of the piece was answered", advice="Choose another piece")
    twin = make_twin(traffic, seed=seed)
    before = repeats - repeats // 2
    samples = []
    for number in range(repeats + 1):
        is_twin = number == before
        say(f"replay {number + 1} of {repeats + 1}: {'the twin' if is_twin else 'the trace'}")
        samples.append(bench.replay(twin if is_twin else piece))
    made = samples.pop(before)
    return TwinReplay(bench.url, bench.server, repeats, compare_replays(samples, made))
