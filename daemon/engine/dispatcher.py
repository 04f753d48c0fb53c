"""The dispatcher: the only place that makes outgoing calls and opens credentials."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, assert_never

import structlog

from actors.context import TRACE, set_log_context
from actors.core.calls import Connector
from actors.core.messages import CONNECTOR_CHANGED_CODE, OUTCOME_UNKNOWN_CODE, CallEffect, Effect, Outcome, Wake
from actors.failpoints import reach
from actors.ports import Asker, StoreFailed
from daemon.actions.pauses import ActionGuard
from daemon.connectors.credentials import secrets_of
from daemon.connectors.http import HttpConnector, HttpResponse, SendFailed
from daemon.connectors.mcp import LiveCalls, McpCaller, Upstream
from daemon.connectors.responses import ResponseReader, accepted, failed, refused, returned, succeeded
from daemon.connectors.retry import CallLimits, CallResult, CircuitBreakers, Pace, Retrier, RetryClock, RetryPolicy
from daemon.connectors.sending import HEADER as CALLBACK
from daemon.connectors.sending import Callbacks, CallHeld, ConnectorLookup, SendCheck, headers_of
from daemon.connectors.servers import TOOL
from daemon.connectors.service import NO_SAMPLES, ConnectorTester, Samples
from daemon.connectors.tokens import UNAUTHORIZED, AccessTokens
from daemon.keys.vault import Vault
from daemon.runtime.background import finish, where_raised
from daemon.webhooks.sender import ChannelMessage, WebhookMessage, WebhookSender

_log = structlog.get_logger()


@dataclass(eq=False, slots=True)
class InFlightCall:
    """A call in flight.

    `attempting` from the beginning of an attempt until its response is taken in, `on_wire` from its
    first byte, `sent` after any; `halted` when no further attempt may follow.
    """

    call: CallEffect
    recovered: bool
    attempting: bool = False
    on_wire: bool = False
    sent: bool = False
    halted: bool = False
    task: asyncio.Task[None] | None = field(default=None, repr=False)

    def mark_sent(self) -> None:
        self.on_wire = self.sent = True

    @property
    def maybe_sent(self) -> bool:
        """Whether the server may have received the call, in this process or in an earlier one."""
        return self.sent or self.recovered


class Dispatcher:
    """Performs effects, one call per key at a time, and posts their outcomes.

    Answered keys are kept until their run moves on: the actor asks for all outstanding effects
    after each turn, while the outcome may still wait in its mailbox.
    """

    def __init__(
        self,
        *,
        http: HttpConnector,
        vault: Vault,
        connectors: ConnectorLookup,
        responses: ResponseReader,
        post: Callable[[str, str, Outcome], None],
        wake: Callable[[Wake], None],
        now: Callable[[], datetime],
        callbacks: Callbacks,
        guard: ActionGuard | None = None,
        limits: CallLimits = CallLimits(),  # noqa: B008 - frozen
        clock: RetryClock = RetryClock(),  # noqa: B008 - frozen
    ) -> None:
        self._http, self._responses = http, responses
        self._post, self._wake, self._now = post, wake, now
        self.callbacks, self._guard = callbacks, guard
        self._send_check = SendCheck(vault, connectors)
        self._webhook_sender = WebhookSender(http, vault, now)
        self._limits, self._clock = limits, clock
        self._retrier = Retrier(limits, clock)
        self._pace = Pace(limits.calls_per_minute_max, clock)
        self._tokens = AccessTokens(http, clock.monotonic)
        self._tester = ConnectorTester(http, self._send_check, self._retrier, responses, self._tokens)
        self.live_calls = LiveCalls()
        self._mcp = McpCaller(http, self.live_calls, limits.body_bytes_max)
        self._breakers = CircuitBreakers(
            failures_max=limits.failures_max,
            open_s=limits.open_s,
            circuits_max=limits.circuits_max,
            monotonic=clock.monotonic,
            now=now,
        )
        self._in_flight: dict[tuple[str, str], dict[str, InFlightCall]] = {}
        self._answered: OrderedDict[tuple[str, str], set[str]] = OrderedDict()
        self._draining = False

    def __len__(self) -> int:
        return sum(len(in_flight_calls) for in_flight_calls in self._in_flight.values())

    @property
    def runs(self) -> set[tuple[str, str]]:
        return set(self._in_flight)

    def under_way(self, call: CallEffect) -> bool:
        return call.key in self._in_flight.get((call.company_id, call.run_id), ())

    def is_on_wire(self, company_id: str, run_id: str) -> bool:
        """Whether a call of the run is on the wire, so that an outcome still follows."""
        return any(in_flight.on_wire for in_flight in self._in_flight.get((company_id, run_id), {}).values())

    def forget_answered(self, company_id: str, run_id: str) -> None:
        """Let the calls of a run begin once more, since the outcomes of answered ones were lost."""
        self._answered.pop((company_id, run_id), None)

    def perform(self, effects: Sequence[Effect], *, recovered: bool) -> None:
        """Start each outstanding effect of a run once per key; never blocks.

        An answered key is not called again either: the directory repeats an outcome that could not
        be applied. Where an outcome was lost, the sweeper finds the run stuck, and forgets the key.
        """
        keys = {effect.key for effect in effects}
        for run in {(effect.company_id, effect.run_id) for effect in effects}:
            self._forget_answered(run, keys)
        for effect in effects:
            match effect:
                case Wake():
                    self._wake(effect)
                case CallEffect():
                    self._begin(effect, recovered=recovered)
                case _:
                    assert_never(effect)

    def forget(self, company_id: str, run_id: str) -> None:
        """Start nothing more for a run; an attempt on the wire ends, and its outcome is posted."""
        self._answered.pop((company_id, run_id), None)
        for in_flight in self._in_flight.get((company_id, run_id), {}).values():
            in_flight.halted = True
            if in_flight.task is not None and not in_flight.on_wire:
                in_flight.task.cancel()

    async def drain(self, timeout_s: float) -> None:
        """Start nothing more, and wait for attempts in progress; the rest follows a restart."""
        self._draining = True
        in_flight_calls = [in_flight for run in self._in_flight.values() for in_flight in run.values()]
        tasks = [in_flight.task for in_flight in in_flight_calls if in_flight.task is not None]
        for in_flight in in_flight_calls:
            if in_flight.task is not None and not in_flight.attempting:
                in_flight.task.cancel()
        await finish(tasks, timeout_s)

    async def test_connector(
        self, company_id: str, connector: Connector, secret: str | None = None, samples: Samples = NO_SAMPLES
    ) -> dict[str, Any]:
        return await self._tester.test(company_id, connector, secret, samples)

    async def read_answer(self, asker: Asker, tool: str, answer: HttpResponse) -> HttpResponse:
        """What a run takes of an answer that came later, by the rules of the tool's connector."""
        try:
            connector, secret = await self._send_check.find(asker.company_id, tool)
        except SendFailed as failed:
            raise StoreFailed(failed.detail, "not_applied") from None
        if connector is None:
            return answer
        return await self._responses.take_in(asker, connector, secrets_of(connector, secret), answer)

    async def upstream(self, company_id: str, server: str) -> Upstream:
        """A server of agents, to pass on to it what is no call; SendFailed without one."""
        connector, secret = await self._send_check.find(company_id, server + TOOL)
        if connector is None:
            raise SendFailed("no_server", "There is no such server.")
        await self._pace.keep(company_id)
        return Upstream(self._http, connector, secret)

    async def send_webhook(self, message: WebhookMessage) -> HttpResponse:
        return await self._webhook_sender.send(message)

    async def post_notification(self, message: ChannelMessage) -> HttpResponse:
        return await self._webhook_sender.post(message)

    def _forget_answered(self, run: tuple[str, str], outstanding: set[str]) -> None:
        if run in self._answered:
            self._answered[run] &= outstanding
            if not self._answered[run]:
                del self._answered[run]

    def _begin(self, call: CallEffect, *, recovered: bool) -> None:
        run = (call.company_id, call.run_id)
        in_flight_calls = self._in_flight.get(run, {})
        answered = call.key in self._answered.get(run, ())
        if self._draining or answered or call.key in in_flight_calls:
            return
        in_flight = InFlightCall(call, recovered)
        self._in_flight.setdefault(run, in_flight_calls)[call.key] = in_flight
        in_flight.task = asyncio.get_running_loop().create_task(self._perform_call(in_flight))
        in_flight.task.add_done_callback(partial(self._remove, in_flight))

    def _remove(self, in_flight: InFlightCall, _: object) -> None:
        run = (in_flight.call.company_id, in_flight.call.run_id)
        del self._in_flight[run][in_flight.call.key]
        if not self._in_flight[run]:
            del self._in_flight[run]

    async def _perform_call(self, in_flight: InFlightCall) -> None:
        call = in_flight.call
        set_log_context(company_id=call.company_id, run_id=call.run_id, step_id=call.step_id, visit=call.visit)
        if TRACE.get() is None:  # taken up again after a restart
            TRACE.set(call.traceparent)
        try:
            outcome = await self._call_when_stored(in_flight)
        except Exception as error:  # noqa: BLE001 - the top of the effect runner
            outcome = self._crashed(call, error)
        if outcome is None:
            return
        reach("outcome-received")
        if not in_flight.halted:
            self._remember(call)
        reach("before-outcome-posted")
        self._post(call.company_id, call.run_id, outcome)

    def _remember(self, call: CallEffect) -> None:
        run = (call.company_id, call.run_id)
        self._answered.setdefault(run, set()).add(call.key)
        self._answered.move_to_end(run)
        if len(self._answered) > self._limits.answered_max:
            self._answered.popitem(last=False)

    def _refused(self, in_flight: InFlightCall) -> Outcome | None:
        """The failure of a call that must not be sent, whatever its connector."""
        call = in_flight.call
        if call.request.mode != "live":
            return refused(call, "not_live", "A shadowed call is never sent.", at=self._now())
        if in_flight.recovered and not call.repeatable:
            detail = f"The service stopped after it may have called {call.request.tool}, which may not be called twice."
            return refused(call, OUTCOME_UNKNOWN_CODE, detail, at=self._now(), unknown=True)
        return None

    async def _hold(self, in_flight: InFlightCall) -> None:
        """Wait while the agent is stopped; a call that was held before a restart was not sent."""
        call, once, guard = in_flight.call, not in_flight.call.repeatable, self._guard
        if call.agent is None or guard is None:
            return
        noted = once and in_flight.recovered and await guard.was_held(call)
        if noted:
            in_flight.recovered = False
        if once and in_flight.recovered:
            return
        noting = once and not in_flight.maybe_sent
        if not await guard.until_lifted(call, noting=noting, noted=noted):
            in_flight.recovered = True

    async def _call_when_stored(self, in_flight: InFlightCall) -> Outcome | None:
        """Make the call, and wait while the store fails; the store is read before each attempt."""
        while True:
            try:
                await self._hold(in_flight)
                return self._refused(in_flight) or await self._call_with_retries(in_flight)
            except StoreFailed:
                _log.error("call_deferred", reason="the store failed")
            except CallHeld:
                if not (in_flight.halted or self._draining):
                    continue
            if in_flight.halted or self._draining:
                return None
            await self._clock.sleep(self._limits.store_pause_s)

    async def _call_with_retries(self, in_flight: InFlightCall) -> Outcome | None:
        """Make the call with retries; None when a drain stopped it between two attempts."""
        call = in_flight.call
        try:
            connector, _ = await self._send_check.check(call.company_id, call.request)
        except SendFailed as none:
            return failed(call, CallResult(none, 0), at=self._now(), maybe_sent=in_flight.maybe_sent)
        await self._pace.keep(call.company_id)
        plan = RetryPolicy(call.repeatable, connector.retries, connector.timeout_s)
        settled = await self._retrier.settle(
            call.company_id, partial(self._attempt, in_flight), plan, lambda: not (in_flight.halted or self._draining)
        )
        result = settled.result
        if isinstance(result, HttpResponse) and succeeded(result.status):
            if connector.callback:
                return accepted(call, connector.callback_timeout_s, at=self._now())
            return returned(call, result, attempts=settled.attempts, at=self._now())
        if settled.halted and self._draining and call.repeatable:
            return None
        return failed(call, settled, at=self._now(), maybe_sent=in_flight.maybe_sent)

    async def _attempt(self, in_flight: InFlightCall, timeout_s: float) -> HttpResponse:
        call = in_flight.call
        connector, secret = await self._checked(call)

        async def send(credential: str | None) -> HttpResponse:
            if credential != secret:  # while a token was asked for the connector may have changed
                await self._checked(call)
            how: dict[str, Any] = {"secret": credential, "connector": connector, "timeout_s": timeout_s}
            how["on_sent"] = partial(self._leaves, in_flight)
            if connector.protocol is None:
                begin = partial(self._http.send, call.request, headers=headers, **how)
            else:
                begin = partial(self._mcp.send, call, **how)
            url, counts = call.request.url or "", call.repeatable
            answer = await self._breakers.through(call.company_id, url, begin, counts=counts)
            if credential != secret and answer.status == UNAUTHORIZED:
                in_flight.on_wire = False  # nothing was done, and with another token it may still be cancelled
            return answer

        headers = headers_of(call)
        if connector.callback:
            headers[CALLBACK] = self.callbacks.url(call)
        in_flight.attempting = True
        try:
            reach("before-send")
            answer, tokens = await self._tokens.through(call.company_id, connector, secret, send)
            secrets = (*secrets_of(connector, secret), *tokens)
            return await self._responses.take_in(Asker(call.company_id, call.key), connector, secrets, answer)
        finally:
            in_flight.attempting = in_flight.on_wire = False

    async def _checked(self, call: CallEffect) -> tuple[Connector, str | None]:
        """The connector and its secret; SendFailed if the call must not be sent as it was shown."""
        found = await self._send_check.check(call.company_id, call.request)
        if call.agent is not None and self._guard is not None:
            why = None if call.asked is not None else await self._guard.unsettled(call)
            if why is not None:
                raise SendFailed(CONNECTOR_CHANGED_CODE, f"What was approved does not stand any more: {why}.")
            if self._guard.stopped(call):
                raise CallHeld
        return found

    def _leaves(self, in_flight: InFlightCall) -> None:
        """The first byte is about to be sent; CallHeld where the agent was stopped just now."""
        call = in_flight.call
        if call.agent is not None and self._guard is not None and self._guard.stopped(call):
            raise CallHeld
        in_flight.mark_sent()

    def _crashed(self, call: CallEffect, error: Exception) -> Outcome:
        """The outcome after an internal error; a call that may not be repeated is unknown."""
        _log.error("call_crashed", error=type(error).__name__, where=where_raised(error))
        detail = "The call broke inside the service."
        return refused(call, "internal_error", detail, at=self._now(), unknown=not call.repeatable)
