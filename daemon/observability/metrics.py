"""Prometheus metrics of one process, and counts of the open gates in the store."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence, Sized
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from actors.core.calls import CallRequest
from actors.core.folding.gates import visit_of
from actors.core.messages import OUTCOME_UNKNOWN_CODE, CallSettled, Event, GateBlocked, RunEnded, VerdictGiven
from actors.core.run import Run, Visit
from actors.ports import StoreFailed
from daemon.model import ParkedRun

METHODS = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})
OTHER = "other"
REQUEST_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60)
BATCH_SIZE = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
BATCH_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5)
DECISION_S = (10, 60, 300, 900, 3_600, 14_400, 28_800, 86_400, 259_200, 604_800, 2_592_000)
LAG_S = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 5)


@dataclass(frozen=True, slots=True)
class Sources:
    """The sources of the gauges, read when the metrics are scraped."""

    actors: Sized
    mailbox_depths: Callable[[], tuple[int, int]]
    calls: Sized
    open_gates: OpenGates
    unsealed_commits: Callable[[], Awaitable[int]]
    now: Callable[[], datetime]


class _Process(ProcessCollector):
    """Process metrics that also work where /proc shows only this process, as in the unit."""

    def _boot_time(self) -> float:
        return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)


class Metrics:
    """Counters and histograms are updated as things happen, gauges when the metrics are scraped."""

    content_type = CONTENT_TYPE_PLAIN_0_0_4

    def __init__(self, version: str) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self._registry = CollectorRegistry()
        _Process(registry=self._registry)
        self._gauge("penstock_info", "Version of the service.", "version").labels(version).set(1)
        self._requests = self._counter("penstock_http_requests", "Requests answered.", "method", "route", "status")
        self._request_s = self._histogram(
            "penstock_http_request_seconds", "Time from headers to response.", REQUEST_S, "method", "route"
        )
        self._exceeded = self._counter("penstock_quota_exceeded", "Refusals beyond a budget.", "limit")
        self._register_runs()
        self._register_background()
        self._register_gauges()

    def _register_runs(self) -> None:
        self._turns = self._counter("penstock_turns", "Actor turns that changed a run.")
        self._events = self._counter("penstock_events", "Events committed.", "type")
        self._ended = self._counter("penstock_runs_ended", "Runs ended.", "vertical", "status")
        self._calls = self._counter("penstock_calls", "Connector calls settled.", "mode", "outcome")
        self._decision_s = self._histogram(
            "penstock_decision_seconds", "Time from a gate's opening to its verdict.", DECISION_S, "vertical"
        )

    def _register_background(self) -> None:
        self._batch_size = self._histogram("penstock_store_batch_size", "Writes in one transaction.", BATCH_SIZE)
        self._batch_s = self._histogram("penstock_store_batch_seconds", "Transaction time, sync included.", BATCH_S)
        self._store_failures = self._counter("penstock_store_failures", "Operations the store failed.", "kind")
        self._loop_failures = self._counter("penstock_background_failures", "Failures of background loops.", "loop")
        self._checkpoints = self._counter("penstock_audit_checkpoints", "Checkpoints signed.")
        self._sealed = self._counter("penstock_audit_sealed_commits", "Commits covered by checkpoints.")
        self._mails = self._counter("penstock_mails", "Mails by result: sent, retried or failed.", "kind", "result")
        self._notified = self._counter(
            "penstock_notifications", "Notifications by result: sent, failed or skipped.", "kind", "result"
        )
        self._lag_s = self._histogram("penstock_event_loop_lag_seconds", "Delay of timers on the event loop.", LAG_S)
        self._skew_s = self._gauge("penstock_clock_skew_seconds", "Seconds that the database's clock is ahead.")
        self._rewound = self._counter("penstock_history_rewound_commits", "Acknowledged commits lost in failovers.")
        self._stalls = self._counter("penstock_loop_stalls", "Turns of the event loop longer than 100 ms.")

    def _register_gauges(self) -> None:
        self._actors = self._gauge("penstock_actors", "Runs held in memory.")
        self._messages = self._gauge("penstock_mailbox_messages", "Messages waiting in all mailboxes.")
        self._depth_max = self._gauge("penstock_mailbox_depth_max", "Messages waiting in the fullest mailbox.")
        self._in_flight = self._gauge("penstock_calls_in_flight", "Connector calls in flight or queued.")
        self._blocked = self._counter("penstock_gates_blocked", "Gates found with too few people.", "vertical")
        self._open = self._gauge("penstock_gates_open", "Gates waiting for a human.", "vertical")
        self._age_s = self._gauge("penstock_gate_age_seconds_max", "Age of the oldest open gate.", "vertical")
        self._unsealed = self._gauge("penstock_audit_unsealed_commits", "Commits not covered by a checkpoint yet.")

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        known = method if method in METHODS else OTHER
        self._requests.labels(known, route, str(status)).inc()
        self._request_s.labels(known, route).observe(seconds)

    def quota_exceeded(self, budget: str) -> None:
        self._exceeded.labels(budget).inc()

    def committed(self, run: Run, events: Sequence[Event]) -> None:
        self._turns.inc()
        for event in events:
            self._events.labels(event.type).inc()
            match event:
                case CallSettled():
                    self._call_settled(run, event)
                case VerdictGiven():
                    self._verdict_given(run, event)
                case GateBlocked():
                    self._blocked.labels(run.vertical).inc()
                case RunEnded():
                    self._ended.labels(run.vertical, event.status).inc()
                case _:
                    pass

    def _call_settled(self, run: Run, event: CallSettled) -> None:
        """Count a call; a cleared step's event carries the request, else the visit has it."""
        request = event.request if event.by is not None else _sent(visit_of(run, event))
        if request is not None:
            self._calls.labels(request.mode, _outcome(event)).inc()

    def _verdict_given(self, run: Run, event: VerdictGiven) -> None:
        gate = visit_of(run, event).gate
        if gate is not None and event.open is not True:
            self._decision_s.labels(run.vertical).observe(max(0.0, (event.at - gate.opened_at).total_seconds()))

    def batch(self, size: int, seconds: float) -> None:
        self._batch_size.observe(size)
        self._batch_s.observe(seconds)

    def store_failure(self, kind: str) -> None:
        """Count one: `full`, `not_applied`, `unknown`, `broken`, `read`, `damaged`, `forged`."""
        self._store_failures.labels(kind).inc()

    def sealed(self, commits: int, checkpoints: int) -> None:
        self._sealed.inc(commits)
        self._checkpoints.inc(checkpoints)

    def rewound(self, commits: int) -> None:
        self._rewound.inc(commits)

    def loop_failed(self, name: str) -> None:
        self._loop_failures.labels(name).inc()

    def mail(self, kind: str, result: str) -> None:
        self._mails.labels(kind, result).inc()

    def notified(self, kind: str, result: str, number: int) -> None:
        self._notified.labels(kind, result).inc(number)

    def clock_skew(self, seconds: float) -> None:
        self._skew_s.set(seconds)

    def loop_lag(self, seconds: float) -> None:
        self._lag_s.observe(seconds)

    def loop_stalled(self) -> None:
        self._stalls.inc()

    async def scrape(self, sources: Sources) -> bytes:
        with suppress(StoreFailed):
            self._unsealed.set(await sources.unsealed_commits())
        open_gates = await sources.open_gates.by_vertical()
        # No await from here on: a concurrent scrape must not see half of the gauges.
        self._open.clear()
        self._age_s.clear()
        for vertical, gates in open_gates.items():
            self._open.labels(vertical).set(gates.count)
            self._age_s.labels(vertical).set(max(0.0, (sources.now() - gates.since).total_seconds()))
        messages, depth_max = sources.mailbox_depths()
        self._actors.set(len(sources.actors))
        self._messages.set(messages)
        self._depth_max.set(depth_max)
        self._in_flight.set(len(sources.calls))
        return generate_latest(self._registry)

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(name, text, labels, registry=self._registry)

    def _gauge(self, name: str, text: str, *labels: str) -> Gauge:
        return Gauge(name, text, labels, registry=self._registry)

    def _histogram(self, name: str, text: str, buckets: Sequence[float], *labels: str) -> Histogram:
        return Histogram(name, text, labels, registry=self._registry, buckets=buckets)


def _sent(visit: Visit) -> CallRequest | None:
    """The request of a visit; None when a human reported the outcome of an earlier call."""
    return None if visit.verdict is not None and visit.verdict.decision == "done" else visit.request


def _outcome(event: CallSettled) -> str:
    if event.error is None:
        return "succeeded"
    return "unknown" if event.error.code == OUTCOME_UNKNOWN_CODE else "failed"


PAGE = 1_000
FRESH_S = 15.0
PAUSE_FACTOR = 20
OLDEST_READ_MAX = 1_000


@dataclass(slots=True)
class VerticalGates:
    """The open gates of one vertical, and the runs that may have an older one.

    A row has the time of its last change; only runs older than the oldest known gate are read.
    """

    count: int
    since: datetime
    older: list[ParkedRun] = field(default_factory=list)

    def add(self, run: ParkedRun) -> None:
        self.count += run.gates
        self.since = min(self.since, run.since)
        if run.created < self.since:
            self.older.append(run)
        if len(self.older) > 2 * OLDEST_READ_MAX:
            self.older = self.oldest()

    def oldest(self) -> list[ParkedRun]:
        """The oldest runs that may have an older gate, at most OLDEST_READ_MAX."""
        found = sorted((run for run in self.older if run.created < self.since), key=lambda run: run.created)
        return found[:OLDEST_READ_MAX]


ReadParked = Callable[[tuple[str, str], int], Awaitable[Sequence[ParkedRun]]]
"""Reads runs that wait for a human: after a company and a run, at most so many."""
LoadRun = Callable[[str, str], Awaitable[Run | None]]


class OpenGates:
    """Counts the open gates, and keeps the result for a multiple of the time that it takes."""

    def __init__(
        self, parked: ReadParked, load: LoadRun, *, fresh_s: float = FRESH_S, pause_factor: int = PAUSE_FACTOR
    ) -> None:
        self._parked, self._load = parked, load
        self._fresh_s = fresh_s
        self._pause_factor = pause_factor
        self._counted: Mapping[str, VerticalGates] = {}
        self._due = 0.0
        self._lock = asyncio.Lock()

    async def by_vertical(self) -> Mapping[str, VerticalGates]:
        """The open gates by vertical; empty while the store cannot be read."""
        now: Callable[[], float] = asyncio.get_running_loop().time
        async with self._lock:
            if now() >= self._due:
                began = now()
                try:
                    self._counted = await self._count()
                except StoreFailed:
                    self._counted = {}
                self._due = now() + max(self._fresh_s, self._pause_factor * (now() - began))
        return self._counted

    async def _count(self) -> Mapping[str, VerticalGates]:
        found: dict[str, VerticalGates] = {}
        after: tuple[str, str] | None = ("", "")
        while after is not None:
            page = await self._parked(after, PAGE)
            for run in page:
                found.setdefault(run.vertical, VerticalGates(0, run.since)).add(run)
            after = (page[-1].company_id, page[-1].run_id) if len(page) == PAGE else None
        for gates in found.values():
            await self._read_oldest(gates)
        return found

    async def _read_oldest(self, gates: VerticalGates) -> None:
        """Read the runs that may have a gate older than any known."""
        for one in gates.oldest():
            if one.created >= gates.since:
                break
            with suppress(StoreFailed):  # a run that cannot be read says nothing
                run = await self._load(one.company_id, one.run_id)
                opened = [visit.gate.opened_at for visit in (run.parked if run else ()) if visit.gate is not None]
                gates.since = min([gates.since, *opened])
        gates.older = []
