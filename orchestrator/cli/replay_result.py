"""What a replay leaves behind: its figures printed, its records written, its verdict as an exit code."""

from collections.abc import Sequence
from pathlib import Path

from orchestrator.cli.output import emit_text
from orchestrator.domain.errors import InputError, MeasurementRefusedError
from orchestrator.domain.fidelity import Verdict
from orchestrator.domain.measurement import Measurement
from orchestrator.domain.records import ReplayLog

COLUMNS = (
    "load", "req/s", "failed", "TTFT p50", "TTFT p99", "from intended p99", "TPOT p50", "tokens/s", "goodput",
    "SLO met", "client",
)  # fmt: skip


def emit_loads(measurements: Sequence[Measurement]) -> None:
    """Print one line a load: seconds from send, requests/s, output tokens/s; a dash where the sample is too thin."""
    rows = [COLUMNS, *(_row(one) for one in measurements)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
    lines = ("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    emit_text("\n" + "\n".join(lines))


def records_path(path: Path, step: int, *, is_walk: bool) -> Path:
    """Return where a load's records go: the file itself, or one of a folder where several loads are walked.

    Raises:
        InputError: a folder is needed and a file is there.
    """
    if not is_walk:
        return path
    if path.is_file():
        raise InputError(f"--records {path}: several loads need a folder, and this is a file")
    path.mkdir(parents=True, exist_ok=True)
    return path / f"load-{step}.parquet"


def refuse_useless(measurements: Sequence[Measurement], logs: Sequence[ReplayLog]) -> None:
    """Return where every measurement may be used.

    Raises:
        MeasurementRefusedError: one is invalid, or no request of it was answered; with the reasons.
    """
    reasons = [reason for one, log in zip(measurements, logs, strict=True) for reason in _objections(one, log)]
    if reasons:
        raise MeasurementRefusedError("; ".join(reasons))


def _objections(one: Measurement, log: ReplayLog) -> list[str]:
    load = str(log.load)
    if one.fidelity.verdict is Verdict.INVALID:
        return [f"at {load} the figures must not be used: {', '.join(one.fidelity.reasons)}"]
    if one.num_issued and not one.num_completed:
        said = next((record.failure_detail for record in log.records if record.failure_detail), "nothing was said")
        kinds = ", ".join(f"{kind.value} {count}" for kind, count in one.failures.items())
        return [f"at {load} no request was answered ({kinds}): {said}"]
    return []


def _row(one: Measurement) -> tuple[str, ...]:
    return (
        f"{one.users} users" if one.offered_rps is None else f"{one.offered_rps:g}/s",
        f"{one.requests_per_s:.4g}",
        f"{one.num_failed}/{one.num_issued}",
        *(_spell(value) for value in (one.ttft_s.p50, one.ttft_s.p99, one.ttft_from_intended_s.p99, one.tpot_s.p50)),
        f"{one.output_tokens_per_s:.4g}",
        _spell(one.goodput_rps),
        "-" if one.slo_attainment is None else f"{one.slo_attainment:.1%}",
        one.fidelity.verdict.value,
    )


def _spell(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"
