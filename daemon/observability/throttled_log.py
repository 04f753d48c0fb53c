"""Warnings about frequent events: one line per interval, with a count."""

from __future__ import annotations

import time
from contextvars import Context
from typing import Any

import structlog

EVERY_S = 10.0
_log = structlog.get_logger("penstock")


class ThrottledLog:
    """Logs a warning at once, then at most every `EVERY_S` with the number since."""

    def __init__(self, event: str) -> None:
        self._event = event
        self._times = 0
        self._not_before = 0.0

    def warn(self, **members: Any) -> None:
        self._times += 1
        now = time.monotonic()
        if now < self._not_before:
            return
        self._not_before = now + EVERY_S
        # In a context of its own: the line is about no single request.
        Context().run(_log.warning, self._event, times=self._times, **members)
        self._times = 0
