"""Runs one replay over several load workers: deals, starts, watches, gathers, merges. Sends nothing to the server."""

import asyncio
import threading
from collections.abc import Iterable, Sequence
from dataclasses import replace

from orchestrator.domain.clock import NS_PER_S, Clock
from orchestrator.domain.errors import MeasurementRefusedError
from orchestrator.domain.load import OfferedLoad, OpenLoad
from orchestrator.domain.records import ReplayLog, Window
from orchestrator.replay.flow import Monitor
from orchestrator.replay.prepared import PreparedRequest
from orchestrator.replay.record_rows import CHUNK_NS, END_NS, FAILURE, INT_BYTES, INTENDED_NS, Row
from orchestrator.replay.watch import ns
from orchestrator.replay.workers.channel import Launch
from orchestrator.replay.workers.dealing import AHEAD_NS, Dealer
from orchestrator.replay.workers.gathering import Gatherer
from orchestrator.replay.workers.member import Member
from orchestrator.replay.workers.merging import LOST, UNSENT, end_of, merge, missing_rows
from orchestrator.replay.workers.order import Order
from orchestrator.replay.workers.wire import Kind, spell

TURN_S = 0.01
READY_LIMIT_S = 60.0
LEAD_NS = NS_PER_S // 2  # for the workers' connections, and
LEAD_USER_NS = 1_000_000  # for each of a closed loop's
GRACE_NS = 5 * NS_PER_S


class Coordinator:
    """One replay while it runs; all times on the coordinator's clock."""

    def __init__(
        self,
        orders: Sequence[Order],
        load: OfferedLoad,
        gatherer: Gatherer,
        *,
        clock: Clock,
        stop: threading.Event | None,
        monitor: Monitor | None,
    ) -> None:
        self._orders = orders
        self._timing = orders[0].timing
        self._load = load
        self._gatherer = gatherer
        self._now = clock.now_ns
        self._stop = stop
        self._monitor = monitor
        self._members = [
            Member(f"worker-{at}", order.load, self._take, clock.now_ns) for at, order in enumerate(orders)
        ]
        self._start_ns = 0
        self._window = Window(0, 0)
        self._told = False

    async def replay(self, requests: Iterable[PreparedRequest], launch: Launch) -> ReplayLog:
        """Replay and return the log without its records, which the gatherer has."""
        span_ns = ns(self._timing.warmup_s + self._timing.measure_s)
        dealer = Dealer(requests, self._members, end_ns=span_ns, is_open=isinstance(self._load, OpenLoad))
        try:
            await self._launch(launch)
            await self._await_ready(dealer)
            self._start()
            while not all(one.is_over for one in self._members):
                await self._turn(dealer)
                self._raise_refusal()
            await self._dismiss()
        finally:
            await asyncio.gather(*(one.close(kill=not one.is_over) for one in self._members))
        return self._merge()

    async def _launch(self, launch: Launch) -> None:
        for member, order in zip(self._members, self._orders, strict=True):
            try:
                await member.launch(launch, order.spell())
            except OSError as error:
                raise MeasurementRefusedError(
                    f"{member.name} of {len(self._members)} cannot be started: {error}"
                ) from error

    async def _await_ready(self, dealer: Dealer) -> None:
        while dealer.deal(AHEAD_NS):  # while the workers import what they need
            pass
        give_up_ns = self._now() + ns(READY_LIMIT_S)
        for member in self._members:
            while not member.is_ready:
                if member.is_lost or self._now() > give_up_ns:
                    await member.lose("ended" if member.is_lost else f"not ready within {READY_LIMIT_S:g} s")
                    raise MeasurementRefusedError(
                        f"{member.name} of {len(self._members)} load workers did not get ready: {member.failure}; "
                        "nothing was sent"
                    )
                await asyncio.sleep(TURN_S)
            await member.set_clock()

    def _start(self) -> None:
        most_users = max(one.users for one in self._members)
        self._start_ns = self._now() + LEAD_NS + LEAD_USER_NS * most_users
        window_ns = self._start_ns + ns(self._timing.warmup_s)
        self._window = Window(window_ns, window_ns + ns(self._timing.measure_s))
        for member in self._members:
            member.send(spell(Kind.START, self._start_ns + member.clock_offset_ns))

    async def _turn(self, dealer: Dealer) -> None:
        now_ns = self._now()
        has_more = dealer.deal(now_ns - self._start_ns + AHEAD_NS)
        self._gatherer.turn()
        self._pass_on(now_ns)
        for member in self._members:
            if not member.is_over:
                await self._look_after(member, now_ns)
            if member.failure is not None:
                self._write_off(member, self._window.end_ns, now_ns, LOST)
        await asyncio.sleep(0 if has_more else TURN_S)

    def _pass_on(self, now_ns: int) -> None:
        """Tell all workers what the whole replay has come to: stopped from outside, or without hope."""
        if self._told:
            return
        if self._is_stopped:
            self._tell(spell(Kind.STOP))
        elif self._monitor is not None and self._window.start_ns <= now_ns < self._window.end_ns:
            reason = self._monitor.give_up(now_ns, self._in_flight(now_ns))
            if reason is not None:
                self._tell(spell(Kind.GIVE_UP, reason))

    def _tell(self, data: bytes) -> None:
        self._told = True
        for member in self._members:
            member.send(data)

    @property
    def _is_stopped(self) -> bool:
        return self._stop is not None and self._stop.is_set()

    def _in_flight(self, now_ns: int) -> int:
        return sum(one.count_due(now_ns - self._start_ns) for one in self._members)

    async def _look_after(self, member: Member, now_ns: int) -> None:
        if member.is_lost:
            await member.lose("lost while it was replaying")
        elif now_ns > self._window.end_ns + ns(self._timing.drain_s) + GRACE_NS:
            await member.lose(f"hung: no end within {GRACE_NS // NS_PER_S} s of the drain's")
        elif self._owes_an_end(member, now_ns) and member.silent_ns(now_ns) > GRACE_NS:
            await member.lose(f"hung: silent for {GRACE_NS // NS_PER_S} s though a request's timeout is past")

    def _owes_an_end(self, member: Member, now_ns: int) -> bool:
        """Say whether a request that a worker was given must have ended by now, however slow the server."""
        if member.users or member.oldest_offset_ns is None:
            return False
        return now_ns - self._start_ns - member.oldest_offset_ns > ns(self._timing.request_timeout_s)

    def _write_off(self, member: Member, end_ns: int, now_ns: int, why: str) -> None:
        """Put down as cancelled what a worker was given, due before `end_ns`, and will have no record of its own."""
        for row in missing_rows(member, why, start_ns=self._start_ns, end_ns=end_ns, now_ns=now_ns):
            member.num_records += 1
            self._gatherer.add(row)
        member.outstanding.clear()

    def _take(self, row: Row) -> None:
        self._gatherer.add(row)
        if self._monitor is not None:
            chunks: bytes = row[CHUNK_NS]
            first_ns = int.from_bytes(chunks[:INT_BYTES], "little", signed=True) if chunks else None
            is_timed = row[FAILURE] is None and first_ns is not None
            self._monitor.ended(
                intended_ns=row[INTENDED_NS],
                ttft_ns=first_ns - row[INTENDED_NS] if is_timed and first_ns is not None else None,
                end_ns=row[END_NS],
            )

    async def _dismiss(self) -> None:
        """Look at the clocks once more, so that one that ran away is seen, and let the workers go."""
        for member in self._members:
            if member.failure is None:
                await member.check_clock()
                member.send(spell(Kind.DISMISS))

    def _raise_refusal(self) -> None:
        for member in self._members:
            if member.refusal is not None:
                raise member.refusal

    def _merge(self) -> ReplayLog:
        now_ns = self._now()
        end_ns = end_of(self._members, self._window)
        for member in self._members:
            if member.failure is None and not member.users and not self._is_stopped:
                self._write_off(member, end_ns, end_ns, UNSENT)
        log = merge(self._members, self._load, start_ns=self._start_ns, window=self._window, now_ns=now_ns)
        if any(one.failure is None for one in self._members) or now_ns >= self._window.end_ns:
            return log
        if now_ns <= self._window.start_ns:
            raise MeasurementRefusedError("all load workers were lost before the window began: " + _failures(log))
        window = Window(self._window.start_ns, now_ns)
        return replace(log, window=window, early_stop="all load workers were lost: " + _failures(log))


def _failures(log: ReplayLog) -> str:
    return "; ".join(f"{one.name}: {one.failure}" for one in log.workers)
