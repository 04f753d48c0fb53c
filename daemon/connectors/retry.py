"""Retries with backoff until a deadline, the circuit breakers, and the pace of each company.

A circuit exists from the first failure until the next success.
"""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import count
from typing import TypeVar

from daemon.connectors.egress import origin
from daemon.connectors.http import PASSING, HttpResponse, SendFailed
from daemon.runtime.fairness import FairSemaphore

CIRCUIT_OPEN = "circuit_open"
SERVER_ERROR = 500
Key = tuple[str, str, str, int]


@dataclass(slots=True)
class _Circuit:
    """Consecutive failures; open while `until_s` is set; `trial` is the one call that probes it."""

    failures: int = 0
    since: datetime | None = None
    until_s: float | None = None
    trial: object | None = None


class CircuitBreakers:
    """One breaker per company and origin; beyond `circuits_max` the oldest is dropped."""

    def __init__(
        self,
        *,
        failures_max: int,
        open_s: float,
        circuits_max: int,
        monotonic: Callable[[], float],
        now: Callable[[], datetime],
    ) -> None:
        """Open after `failures_max` consecutive failures for `open_s`."""
        self._failures_max, self._open_s, self._circuits_max = failures_max, open_s, circuits_max
        self._monotonic, self._now = monotonic, now
        self._circuits: OrderedDict[Key, _Circuit] = OrderedDict()

    def __len__(self) -> int:
        return len(self._circuits)

    async def through(
        self, company_id: str, url: str, send: Callable[[], Awaitable[HttpResponse]], *, counts: bool = True
    ) -> HttpResponse:
        """Call `send`; SendFailed `circuit_open` without a call while the circuit is open.

        Failures of calls that are never repeated do not count (`counts`): each deserves its own
        response.
        """
        key = (company_id, *origin(url))
        ticket = object()
        self._enter(key, ticket)
        try:
            answer = await send()
            if counts or answer.status < SERVER_ERROR:
                self._settle(key, ticket, ok=answer.status < SERVER_ERROR)
        except SendFailed as none:
            if none.code in PASSING:
                if counts:
                    self._settle(key, ticket, ok=False)
            elif none.status_code is not None and (counts or none.status_code < SERVER_ERROR):
                self._settle(key, ticket, ok=none.status_code < SERVER_ERROR)
            raise
        finally:
            self._leave(key, ticket)
        return answer

    def _enter(self, key: Key, ticket: object) -> None:
        """Let a call pass while the circuit is closed, and one trial call after `open_s`."""
        circuit = self._circuits.get(key)
        if circuit is None or circuit.until_s is None:
            return
        left_s = circuit.until_s - self._monotonic()
        if left_s > 0 or circuit.trial is not None:
            raise self._held_back(key, circuit, max(0.0, left_s))
        circuit.trial = ticket

    def _settle(self, key: Key, ticket: object, *, ok: bool) -> None:
        """Count the result of a call; while a circuit is open only its trial counts."""
        circuit = self._circuits.get(key)
        if circuit is not None and circuit.until_s is not None and circuit.trial is not ticket:
            return
        if ok:
            self._circuits.pop(key, None)
            return
        circuit = self._circuits.setdefault(key, _Circuit())
        self._circuits.move_to_end(key)
        circuit.failures += 1
        if circuit.failures >= self._failures_max:
            circuit.since = circuit.since or self._now()
            circuit.until_s = self._monotonic() + self._open_s
        if len(self._circuits) > self._circuits_max:
            self._circuits.popitem(last=False)

    def _leave(self, key: Key, ticket: object) -> None:
        """Release the trial of a call that was cancelled or refused."""
        circuit = self._circuits.get(key)
        if circuit is not None and circuit.trial is ticket:
            circuit.trial = None

    def _held_back(self, key: Key, circuit: _Circuit, left_s: float) -> SendFailed:
        _, scheme, host, port = key
        where = f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"
        until = _moment(self._now() + timedelta(seconds=left_s)) if left_s else "the trial call under way has ended"
        since = "" if circuit.since is None else f" since {_moment(circuit.since)}"
        detail = f"Calls to {where} are held back{since} until {until}, after {circuit.failures} failures in a row."
        return SendFailed(CIRCUIT_OPEN, detail, retry_after_s=left_s)


def _moment(at: datetime) -> str:
    return at.isoformat(timespec="seconds").replace("+00:00", "Z")


T = TypeVar("T")
REPEATED_STATUSES = frozenset({408, 425, 429})


@dataclass(frozen=True, slots=True)
class CallLimits:
    """Limits of outgoing calls; `answered_max` is the number of runs whose answered calls are kept.

    After `failures_max` consecutive failures, calls of a company to an origin stop for `open_s`.
    """

    calls_max: int = 256
    calls_per_minute_max: int = 120_000
    step_deadline_s: float = 60.0
    pause_s: float = 0.2
    pause_max_s: float = 10.0
    retry_after_max_s: float = 30.0
    answered_max: int = 10_000
    failures_max: int = 20
    open_s: float = 10.0
    circuits_max: int = 10_000
    store_pause_s: float = 1.0
    body_bytes_max: int = 256 * 1024


@dataclass(frozen=True, slots=True)
class RetryClock:
    """Time and randomness of retries; `jitter` returns numbers from 0 to 1."""

    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    jitter: Callable[[], float] = random.random


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    repeatable: bool
    retries: int
    timeout_s: float


@dataclass(frozen=True, slots=True)
class CallResult:
    """The result of all attempts; `halted` when another attempt was due but not allowed."""

    result: HttpResponse | SendFailed
    attempts: int
    halted: bool = False


class Retrier:
    """Sends until a response counts, or no further attempt is safe or left.

    A call holds a slot only during attempts, not during pauses.
    """

    def __init__(self, limits: CallLimits, clock: RetryClock) -> None:
        self._limits = limits
        self._clock = clock
        self._slots = FairSemaphore(limits.calls_max)

    async def once(self, company_id: str, send: Callable[[], Awaitable[T]]) -> T:
        async with self._slots.hold(company_id):
            return await send()

    async def settle(
        self,
        company_id: str,
        send: Callable[[float], Awaitable[HttpResponse]],
        plan: RetryPolicy,
        go_on: Callable[[], bool],
    ) -> CallResult:
        """Call `send` with its timeout; `go_on` is asked before each retry.

        An attempt always gets its whole timeout, or its outcome would be unknown.
        """
        end, sent = math.inf, 0
        settled: CallResult | None = None
        for turn in count(1):
            async with self._slots.hold(company_id):
                now = self._clock.monotonic()
                end = min(end, now + self._limits.step_deadline_s)
                if settled is not None and now >= end:
                    return settled
                result = await _tried(send, plan.timeout_s)
            sent += not _held_back(result)
            settled = CallResult(result, sent)
            pause_s = self._pause_s(result, turn)
            late = self._clock.monotonic() + pause_s >= end
            if sent > plan.retries or late or not may_repeat(result, repeatable=plan.repeatable):
                return settled
            if not go_on():
                return replace(settled, halted=True)
            await self._clock.sleep(pause_s)
        raise AssertionError("counting never ends")

    def _pause_s(self, result: HttpResponse | SendFailed, turn: int) -> float:
        """Half of the growing pause is fixed, half is jitter; Retry-After may extend it.

        After an open circuit the pause is added to its time, so that calls do not return together.
        """
        grown_s = min(self._limits.pause_max_s, self._limits.pause_s * 2.0 ** min(turn - 1, 32))
        own_s = grown_s * (1 + self._clock.jitter()) / 2
        asked_s = result.retry_after_s or 0.0
        if _held_back(result):
            return asked_s + own_s
        return max(own_s, min(asked_s, self._limits.retry_after_max_s))


def may_repeat(result: HttpResponse | SendFailed, *, repeatable: bool) -> bool:
    """Whether another attempt is safe and may succeed."""
    if isinstance(result, HttpResponse):
        return repeatable and (result.status in REPEATED_STATUSES or result.status >= SERVER_ERROR)
    if _held_back(result):
        return repeatable
    return result.code in PASSING and (repeatable or not result.maybe_sent)


def _held_back(result: HttpResponse | SendFailed) -> bool:
    return isinstance(result, SendFailed) and result.code == CIRCUIT_OPEN


async def _tried(send: Callable[[float], Awaitable[HttpResponse]], timeout_s: float) -> HttpResponse | SendFailed:
    try:
        return await send(timeout_s)
    except SendFailed as failed:
        return failed


MINUTE_S = 60.0
COMPANIES_MAX = 10_000


class Pace:
    """Lets each company make `per_minute` calls at once, and then as many a minute; more wait.

    A company's debt is the time by which its calls are ahead of that pace.
    """

    def __init__(self, per_minute: int, clock: RetryClock) -> None:
        self._each_s = MINUTE_S / per_minute
        self._clock = clock
        self._paid_at: dict[str, float] = {}

    async def keep(self, company_id: str) -> None:
        """Wait until the company may make one more call."""
        now = self._clock.monotonic()
        paid_at = max(now, self._paid_at.pop(company_id, now)) + self._each_s
        self._paid_at[company_id] = paid_at
        if len(self._paid_at) > COMPANIES_MAX:
            self._forget_paid(now)
        if paid_at > now + MINUTE_S:
            await self._clock.sleep(paid_at - now - MINUTE_S)

    def _forget_paid(self, now: float) -> None:
        self._paid_at = {company: paid_at for company, paid_at in self._paid_at.items() if paid_at > now}
