"""Where ended requests go: each becomes a record that leaves for the sink, or is kept where there is none."""

from orchestrator.domain.records import RequestRecord
from orchestrator.replay.exchange import Exchange
from orchestrator.replay.flow import Monitor, RecordSink


class Ledger:
    """Takes ended exchanges and keeps none of them; `key` stands in no record."""

    def __init__(self, key: str | None, *, sink: RecordSink | None, monitor: Monitor | None) -> None:
        self._key = key
        self._kept: list[RequestRecord] = []
        self._put = self._kept.append if sink is None else sink.put
        self._monitor = monitor

    def enter(self, exchange: Exchange) -> None:
        """Put an ended exchange's record where records go, and let the monitor know."""
        record = exchange.record(self._key)
        self._put(record)
        if self._monitor is not None:
            first_ns = record.first_ns if record.failure is None else None
            ttft_ns = None if first_ns is None else first_ns - record.intended_ns
            self._monitor.ended(intended_ns=record.intended_ns, ttft_ns=ttft_ns, end_ns=record.end_ns)

    def records(self) -> tuple[RequestRecord, ...]:
        """Return what was kept, in the order of sending; nothing where a sink took it."""
        return tuple(sorted(self._kept, key=lambda one: (one.dispatched_ns, one.index)))
