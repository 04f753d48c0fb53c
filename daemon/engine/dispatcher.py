"""The dispatcher: the one place that makes outgoing calls and opens credentials."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from traceback import extract_tb
from typing import Any, Protocol, assert_never

import structlog

from actors.context import TRACE, set_log_context
from actors.core.calls import Connector
from actors.core.messages import OUTCOME_UNKNOWN_CODE, Call, Effect, Outcome, Wake
from actors.core.template import ConditionFailed
from actors.failpoints import reach
from actors.ports import StoreFailed
from daemon.connectors.auth import secrets_of
from daemon.connectors.breaker import CircuitBreakers
from daemon.connectors.headers import headers_of
from daemon.connectors.http import HttpConnector, HttpResponse, SendFailed
from daemon.connectors.results import failed, output_of, refused, returned, succeeded
from daemon.connectors.retry import CallLimits, CallResult, Clock, Retrier, RetryPolicy
from daemon.connectors.send_check import ConnectorLookup, SendCheck
from daemon.connectors.test_call import ConnectorTester
from daemon.keys.vault import Vault
from daemon.webhooks.sender import WebhookMessage, WebhookSender

_log = structlog.get_logger()


class SignalRule(Protocol):
    """A compiled signal_rule."""

    def value(self, status: int, body: Any) -> Any:
        """The signal in a response; ConditionFailed when there is none."""


@dataclass(eq=False, slots=True)
class InFlightCall:
    """A call in flight; `trying` while an attempt is made, `halted` when no further attempt may follow.

    An attempt is `on_wire` from the first byte of its request: before that nothing of it can have happened. `sent` says
    that some attempt has been, and stays.
    """

    call: Call
    recovered: bool
    trying: bool = False
    on_wire: bool = False
    sent: bool = False
    halted: bool = False
    task: asyncio.Task[None] | None = field(default=None, repr=False)

    def leave(self) -> None:
        """Be on the wire."""
        self.on_wire = self.sent = True

    @property
    def maybe_sent(self) -> bool:
        """Whether the far side may have got the call, in this life of the service or in the one before."""
        return self.sent or self.recovered


class Dispatcher:
    """Ownership effects beside the actors, one flight per key, and posts what came of them.

    A key that was answered is remembered until its run moves on, because the actor asks for everything that is
    outstanding after each turn, and the answer may still wait in its mailbox then.
    """

    def __init__(
        self,
        *,
        http: HttpConnector,
        vault: Vault,
        shelf: ConnectorLookup,
        rule: Callable[[str], SignalRule],
        post: Callable[[str, str, Outcome], None],
        wake: Callable[[Wake], None],
        now: Callable[[], datetime],
        limits: CallLimits = CallLimits(),  # noqa: B008 - frozen
        clock: Clock = Clock(),  # noqa: B008 - frozen
    ) -> None:
        """Send with `http`, open secrets with `vault`; `post` takes (company_id, run_id, outcome)."""
        self._http, self._rule = http, rule
        self._post, self._wake, self._now = post, wake, now
        self._cleared = SendCheck(vault, shelf)
        self._notices = WebhookSender(http, vault, now)
        self._limits, self._clock = limits, clock
        self._attempts = Retrier(limits, clock)
        self._trials = ConnectorTester(http, self._cleared, self._attempts)
        self._breakers = CircuitBreakers(
            failures_max=limits.failures_max,
            open_s=limits.open_s,
            circuits_max=limits.circuits_max,
            monotonic=clock.monotonic,
            now=now,
        )
        self._flights: dict[tuple[str, str], dict[str, InFlightCall]] = {}
        self._answered: OrderedDict[tuple[str, str], set[str]] = OrderedDict()
        self._draining = False

    def __len__(self) -> int:
        """How many calls are in flight or wait to be."""
        return sum(len(flights) for flights in self._flights.values())

    @property
    def runs(self) -> set[tuple[str, str]]:
        """The runs that have a call in flight, or one that waits to be."""
        return set(self._flights)

    def under_way(self, call: Call) -> bool:
        """Whether that call is in flight, or waits to be."""
        return call.key in self._flights.get((call.company_id, call.run_id), ())

    def is_on_wire(self, company_id: str, run_id: str) -> bool:
        """Whether a call of that run is on the wire, so that something will come of it even where the run has ended."""
        return any(flight.on_wire for flight in self._flights.get((company_id, run_id), {}).values())

    def perform(self, effects: Sequence[Effect], *, recovered: bool) -> None:
        """See to it that each of a run's outstanding effects is under way, once per key; never blocks."""
        keys = {effect.key for effect in effects}
        for run in {(effect.company_id, effect.run_id) for effect in effects}:
            self._moved_on(run, keys)
        for effect in effects:
            match effect:
                case Wake():
                    self._wake(effect)
                case Call():
                    self._begin(effect, recovered=recovered)
                case _:
                    assert_never(effect)

    def forget(self, company_id: str, run_id: str) -> None:
        """Begin nothing more for a run; an attempt that is on the wire ends, and its outcome is posted."""
        self._answered.pop((company_id, run_id), None)
        for flight in self._flights.get((company_id, run_id), {}).values():
            flight.halted = True
            if flight.task is not None and not flight.on_wire:
                flight.task.cancel()

    async def drain(self, timeout_s: float) -> None:
        """Begin nothing more, give the attempts that are made that time, then end them.

        What has not begun or was cut off is durable in its run and goes on after the restart.
        """
        self._draining = True
        flights = [flight for run in self._flights.values() for flight in run.values()]
        tasks = [flight.task for flight in flights if flight.task is not None]
        for flight in flights:
            if flight.task is not None and not flight.trying:
                flight.task.cancel()
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=timeout_s)
            for task in late:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def test_connector(self, company_id: str, trial: Connector, secret: str | None = None) -> dict[str, Any]:
        """Try a connector without any run; says how it went and never fails because of the target."""
        return await self._trials.test(company_id, trial, secret)

    async def notify(self, notice: WebhookMessage) -> HttpResponse:
        """Sign a notice and send it to its webhook, once; SendFailed when there is no answer."""
        return await self._notices.send(notice)

    def _moved_on(self, run: tuple[str, str], outstanding: set[str]) -> None:
        """Forget the answered keys that the run does not ask for any more."""
        if run in self._answered:
            self._answered[run] &= outstanding
            if not self._answered[run]:
                del self._answered[run]

    def _begin(self, call: Call, *, recovered: bool) -> None:
        run = (call.company_id, call.run_id)
        flights = self._flights.get(run, {})
        answered = not recovered and call.key in self._answered.get(run, ())
        if self._draining or answered or call.key in flights:
            return
        flight = InFlightCall(call, recovered)
        self._flights.setdefault(run, flights)[call.key] = flight
        flight.task = asyncio.get_running_loop().create_task(self._fly(flight))
        flight.task.add_done_callback(partial(self._landed, flight))

    def _landed(self, flight: InFlightCall, _: object) -> None:
        run = (flight.call.company_id, flight.call.run_id)
        del self._flights[run][flight.call.key]
        if not self._flights[run]:
            del self._flights[run]

    async def _fly(self, flight: InFlightCall) -> None:
        call = flight.call
        set_log_context(company_id=call.company_id, run_id=call.run_id, step_id=call.step_id, visit=call.visit)
        if TRACE.get() is None:  # taken up again after a restart
            TRACE.set(call.traceparent)
        try:
            outcome = self._refused(flight) or await self._made(flight)
        except Exception as error:  # noqa: BLE001 - the top of the effect runner
            outcome = self._broken(call, error)
        if outcome is None:
            return
        reach("outcome-received")
        if not flight.halted:
            self._remember(call)
        reach("before-outcome-posted")
        self._post(call.company_id, call.run_id, outcome)

    def _remember(self, call: Call) -> None:
        run = (call.company_id, call.run_id)
        self._answered.setdefault(run, set()).add(call.key)
        self._answered.move_to_end(run)
        if len(self._answered) > self._limits.answered_max:
            self._answered.popitem(last=False)

    def _refused(self, flight: InFlightCall) -> Outcome | None:
        """What may not be sent, whatever the connector says."""
        call = flight.call
        if call.request.mode != "live":
            return refused(call, "not_live", "A shadowed call is never sent.", at=self._now())
        if flight.recovered and not call.repeatable:
            detail = f"The service stopped after it may have called {call.request.tool}, which may not be called twice."
            return refused(call, OUTCOME_UNKNOWN_CODE, detail, at=self._now(), unknown=True)
        return None

    async def _made(self, flight: InFlightCall) -> Outcome | None:
        """Make the call as soon as the store says how; it is asked before each attempt, when nothing is on its way."""
        while True:
            try:
                return await self._tried(flight)
            except StoreFailed:
                _log.error("call_deferred", reason="the store failed")
            if flight.halted or self._draining:
                return None
            await self._clock.sleep(self._limits.store_pause_s)

    async def _tried(self, flight: InFlightCall) -> Outcome | None:
        """Make the call, as often as that is safe; None when a drain cut it off between two attempts."""
        call = flight.call
        try:
            connector, secret = await self._cleared.of(call.company_id, call.request)
        except SendFailed as none:
            return failed(call, CallResult(none, 0), at=self._now(), maybe_sent=flight.maybe_sent)
        plan = RetryPolicy(call.repeatable, connector.retries, connector.timeout_s)
        settled = await self._attempts.settle(
            call.company_id, partial(self._attempt, flight), plan, lambda: not (flight.halted or self._draining)
        )
        secrets, result = secrets_of(connector, secret), settled.result
        if isinstance(result, HttpResponse) and succeeded(result.status):
            signal, at = self._signal(connector, result), self._now()
            return returned(call, result, signal, attempts=settled.attempts, at=at, secrets=secrets)
        if settled.halted and self._draining and call.repeatable:
            return None
        return failed(call, settled, at=self._now(), maybe_sent=flight.maybe_sent, secrets=secrets)

    async def _attempt(self, flight: InFlightCall, timeout_s: float) -> HttpResponse:
        call = flight.call
        connector, secret = await self._cleared.of(call.company_id, call.request)
        send = partial(
            self._http.send,
            call.request,
            secret=secret,
            connector=connector,
            headers=headers_of(call),
            timeout_s=timeout_s,
            leaving=flight.leave,
        )
        flight.trying = True
        try:
            reach("before-send")
            url, counts = call.request.url or "", call.repeatable
            return await self._breakers.through(call.company_id, url, send, counts=counts)
        finally:
            flight.trying = flight.on_wire = False

    def _signal(self, connector: Connector, answer: HttpResponse) -> Any:
        """What the signal rule makes of an answer; a rule without a clear answer is a hit."""
        if connector.signal_rule is None:
            return None
        try:
            return self._rule(connector.signal_rule).value(answer.status, output_of(answer))
        except (ConditionFailed, ValueError):
            return True

    def _broken(self, call: Call, error: Exception) -> Outcome:
        """A fault of our own: the run must not wait for ever, and nobody knows how far the call came."""
        where = extract_tb(error.__traceback__)[-1]
        _log.error("call_crashed", error=type(error).__name__, where=f"{where.filename}:{where.lineno}")
        detail = "The call broke inside the service."
        return refused(call, "internal_error", detail, at=self._now(), unknown=not call.repeatable)
