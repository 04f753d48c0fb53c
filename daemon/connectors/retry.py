"""Retries with backoff and jitter, until a deadline."""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from itertools import count
from typing import TypeVar

from daemon.connectors.breaker import CIRCUIT_OPEN, SERVER_ERROR
from daemon.connectors.http import PASSING, HttpResponse, SendFailed
from daemon.runtime.fairness import FairSemaphore

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
        async with self._slots.of(company_id):
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
            async with self._slots.of(company_id):
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
