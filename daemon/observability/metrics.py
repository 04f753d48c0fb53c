"""Metrics: what the service counts and measures, for Prometheus to read."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import TypeVar

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from actors.core.calls import Request
from actors.core.evolve import visit_of
from actors.core.messages import OUTCOME_UNKNOWN_CODE, CallSettled, Event, RunEnded, VerdictGiven
from actors.core.run import Run, Visit
from actors.ports import StoreFailed
from daemon.observability.meters import Sources
from daemon.observability.tallies import Count, Counts, Spreads

BEAT_S = 0.1
LABELS_MAX = 1_000
METHODS = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})
OTHER = "other"
REQUEST_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60)
BATCH_WORKS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
BATCH_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5)
DECISION_S = (10, 60, 300, 900, 3_600, 14_400, 28_800, 86_400, 259_200, 604_800, 2_592_000)
LAG_S = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 5)

M = TypeVar("M")


class _Process(ProcessCollector):
    """Processor time, memory and descriptors; also where /proc shows the process alone, as it does to the unit."""

    def _boot_time(self) -> float:
        return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)


class Metrics:
    """The figures of one process: counted as things happen, or looked at when the page is asked for."""

    content_type = CONTENT_TYPE_PLAIN_0_0_4

    def __init__(self, version: str) -> None:
        """Begin at nought."""
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self._registry = CollectorRegistry()
        _Process(registry=self._registry)
        self._gauge("penstock_info", "Which version this is.", "version").labels(version).set(1)
        self._count_requests()
        self._count_commits()
        self._look_at()

    def _count_requests(self) -> None:
        self._requests = self._counts("penstock_requests", "Requests that were answered.", "method", "route", "status")
        self._request_s = self._spreads(
            "penstock_request_seconds", "From a request's headers to its answer.", REQUEST_S, "method", "route"
        )
        self.requested = _kept(self._requested)
        """Whoever counts the requests of a method, a route and a status: hears how many seconds one took."""

    def _count_commits(self) -> None:
        self._turns = self._counts("penstock_turns", "Turns of actors that changed a run.").labels()
        self._events = self._counts("penstock_events", "Events that became facts.", "type")
        self._ended = self._counts("penstock_runs_ended", "Runs that came to an end.", "vertical", "status")
        self._calls = self._counts("penstock_calls", "Calls that were settled.", "mode", "outcome")
        self._decision_s = self._spreads(
            "penstock_decision_seconds", "From a gate's opening to its verdict.", DECISION_S, "vertical"
        )
        self._kinds, self._end = _Kinds(self._events), _kept(self._ended.labels)
        self._call, self._decision = _kept(self._calls.labels), _kept(self._decision_s.labels)
        works = self._spreads("penstock_batch_works", "Writes in one transaction.", BATCH_WORKS)
        batch_s = self._spreads("penstock_batch_seconds", "Time of a transaction, its sync included.", BATCH_S)
        self._batch_works, self._batch_s = works.labels(), batch_s.labels()
        self._failures = self._counter("penstock_store_failures", "What the store could not do.", "kind")
        self._loop_failures = self._counter("penstock_background_failures", "Failures of background loops.", "loop")
        self._checkpoints = self._counter("penstock_audit_checkpoints", "Checkpoints that were signed.")
        self._sealed = self._counter("penstock_audit_sealed_commits", "Commits that checkpoints were signed for.")
        lag_s = self._spreads("penstock_loop_lag_seconds", "How late the event loop gets to a timer.", LAG_S)
        self._lag_s = lag_s.labels()

    def _look_at(self) -> None:
        self._live = self._gauge("penstock_live_actors", "Runs that are held in memory.")
        self._waiting = self._gauge("penstock_mailbox_messages", "Messages that wait in all mailboxes.")
        self._fullest = self._gauge("penstock_mailbox_depth_max", "Messages that wait in the fullest mailbox.")
        self._in_flight = self._gauge("penstock_calls_in_flight", "Calls that are sent or wait to be.")
        self._open = self._gauge("penstock_gates_open", "Gates that wait for a human.", "vertical")
        self._age_s = self._gauge(
            "penstock_gate_age_seconds_max", "How long the gate that has waited longest is open.", "vertical"
        )
        self._unsealed = self._gauge("penstock_audit_unsealed_commits", "Commits that no checkpoint covers yet.")

    def told(self, run: Run, events: Sequence[Event]) -> None:
        """Count a turn, and what became fact by it."""
        self._turns.inc()
        for event in events:
            self._kinds[event.type].value += 1
            match event:
                case CallSettled():
                    self._call_settled(run, event)
                case VerdictGiven():
                    self._verdict_given(run, event)
                case RunEnded():
                    self._end(run.vertical, event.status).inc()
                case _:
                    pass

    def _call_settled(self, run: Run, event: CallSettled) -> None:
        """Count a call; where the step was cleared in the same breath, its event says all without a look at the run."""
        request = event.request if event.by is not None else _sent(visit_of(run, event))
        if request is not None:
            self._call(request.mode, _outcome(event)).inc()

    def _verdict_given(self, run: Run, event: VerdictGiven) -> None:
        gate = visit_of(run, event).gate
        if gate is not None:
            self._decision(run.vertical).observe(max(0.0, (event.at - gate.opened_at).total_seconds()))

    def batch(self, works: int, seconds: float) -> None:
        """Count a transaction of the store."""
        self._batch_works.observe(works)
        self._batch_s.observe(seconds)

    def store_failure(self, kind: str) -> None:
        """Count what the store could not do."""
        self._failures.labels(kind).inc()

    def sealed(self, commits: int, checkpoints: int) -> None:
        """Count what was sealed."""
        self._sealed.inc(commits)
        self._checkpoints.inc(checkpoints)

    def loop_failed(self, name: str) -> None:
        """Count a failure of a background loop."""
        self._loop_failures.labels(name).inc()

    async def beat(self) -> None:
        """Measure once how late the event loop gets to what is due."""
        loop = asyncio.get_running_loop()
        due = loop.time() + BEAT_S
        await asyncio.sleep(BEAT_S)
        self._lag_s.observe(max(0.0, loop.time() - due))

    async def page(self, sources: Sources) -> bytes:
        """All figures, as Prometheus reads them."""
        with suppress(StoreFailed):
            self._unsealed.set(await sources.ledger.unsealed())
        tallies = await sources.gates.tallies()
        # From here on nothing else gets the event loop, so that a page beside this one finds no half of it.
        self._open.clear()
        self._age_s.clear()
        for vertical, tally in tallies.items():
            self._open.labels(vertical).set(tally.gates)
            self._age_s.labels(vertical).set(max(0.0, (sources.now() - tally.since).total_seconds()))
        waiting, fullest = sources.actors.waiting()
        self._live.set(len(sources.actors))
        self._waiting.set(waiting)
        self._fullest.set(fullest)
        self._in_flight.set(len(sources.calls))
        return generate_latest(self._registry)

    def _requested(self, method: str, route: str, status: int) -> Callable[[float], None]:
        known = method if method in METHODS else OTHER
        count, time_s = self._requests.labels(known, route, str(status)), self._request_s.labels(known, route)

        def took(seconds: float) -> None:
            count.value += 1
            time_s.observe(seconds)

        return took

    def _counts(self, name: str, text: str, *labels: str) -> Counts:
        counts = Counts(name, text, labels)
        self._registry.register(counts)
        return counts

    def _spreads(self, name: str, text: str, bounds: Sequence[float], *labels: str) -> Spreads:
        spreads = Spreads(name, text, bounds, labels)
        self._registry.register(spreads)
        return spreads

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(name, text, labels, registry=self._registry)

    def _gauge(self, name: str, text: str, *labels: str) -> Gauge:
        return Gauge(name, text, labels, registry=self._registry)


def _kept(labels: Callable[..., M]) -> Callable[..., M]:
    """The same, but looked up at a tenth of the price where it was asked for before."""
    return lru_cache(LABELS_MAX)(labels)


class _Kinds(dict[str, Count]):
    """The counter of each type of event, at half the price of what is kept by `_kept`: a turn has a dozen of them."""

    def __init__(self, counts: Counts) -> None:
        super().__init__()
        self._counts = counts

    def __missing__(self, kind: str) -> Count:
        count = self[kind] = self._counts.labels(kind)
        return count


def _sent(visit: Visit) -> Request | None:
    """What a visit has sent; nothing where a human said what came of a call that an earlier visit had sent."""
    return None if visit.verdict is not None and visit.verdict.decision == "done" else visit.request


def _outcome(event: CallSettled) -> str:
    if event.error is None:
        return "succeeded"
    return "unknown" if event.error.code == OUTCOME_UNKNOWN_CODE else "failed"
