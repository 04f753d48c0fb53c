"""The schedule of delivery attempts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from daemon.model.webhooks import Delivery

PAUSES_S = (5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400)
"""How long after each failed attempt the next one comes; after the last there is none."""

RETRY_AFTER_MAX_S = 86_400.0
GONE = 410
ERROR_CHARS_MAX = 500


@dataclass(frozen=True, slots=True)
class Result:
    """The result of an attempt: a status, or an error; after a `final` one there is no other."""

    status_code: int | None
    latency_ms: int | None = None
    error: str | None = None
    retry_after_s: float | None = None
    final: bool = False

    @property
    def ok(self) -> bool:
        return self.status_code is not None and 200 <= self.status_code < 300  # noqa: PLR2004 - 2xx


def settled(delivery: Delivery, result: Result, at: datetime) -> Delivery:
    tries = delivery.tries + 1
    next_at = None if result.ok else _next(tries, result, at)
    return replace(
        delivery,
        status="delivered" if result.ok else "pending" if next_at is not None else "failed",
        attempts=delivery.attempts + 1,
        tries=tries,
        next_at=next_at,
        last_at=at,
        status_code=result.status_code,
        latency_ms=result.latency_ms,
        error=None if result.ok or result.error is None else result.error[:ERROR_CHARS_MAX],
    )


def skipped(delivery: Delivery, reason: str, at: datetime) -> Delivery:
    """A delivery of what nobody needs to be told any more."""
    return replace(delivery, status="skipped", next_at=None, last_at=at, status_code=None, error=reason)


def _next(tries: int, result: Result, at: datetime) -> datetime | None:
    """The time of the next attempt; the receiver may ask for a later one."""
    if result.final or result.status_code == GONE or tries > len(PAUSES_S):
        return None
    asked_s = min(result.retry_after_s or 0.0, RETRY_AFTER_MAX_S)
    return at + timedelta(seconds=max(float(PAUSES_S[tries - 1]), asked_s))
