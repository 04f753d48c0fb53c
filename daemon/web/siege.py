"""A siege: more is asked than can be done, and that for longer than a burst lasts."""

from __future__ import annotations

import math
from collections.abc import Callable

BEARABLE_S = 5.0
BURST_S = 5.0
BESIEGED_S = 1.0
CALM_S = 1.0
WINDOW_S = 0.25
RECENT_S = 2 * WINDOW_S
LEAST = 256
_NEW = 0.1  # how much of a rate is what was seen last


class Siege:
    """Tells a burst from a siege by the wait, which is how many wait divided by how many are served a second.

    A burst may wait: it is over when it is served. Where the wait is longer than can be borne, or there is no room to
    wait, for `burst_s` without a break, and they do not get fewer, it is a siege: from then on as many may wait as are
    served in a much shorter time, until for a second hardly anybody has waited, and nobody come in vain.
    """

    def __init__(
        self,
        bearable_s: float = BEARABLE_S,
        burst_s: float = BURST_S,
        besieged_s: float = BESIEGED_S,
        told: Callable[[bool], None] = lambda _: None,
    ) -> None:
        """Begin in peace, knowing nothing about how many are served; `told` hears when a siege begins and ends."""
        self.on = False
        self.rate = 0.0
        self._bearable_s = bearable_s
        self._burst_s = burst_s
        self._besieged_s = besieged_s
        self._told = told
        self._late_since: float | None = None
        self._calm_since: float | None = None
        self._window_from: float | None = None
        self._waited = self._served = 0
        self._refused_at = -math.inf

    @property
    def room(self) -> float:
        """How many may wait in a siege: those that are served in a short time."""
        return max(LEAST, self.rate * self._besieged_s)

    @property
    def bearable(self) -> float:
        """How many may wait in peace: those that are served in the time that can be borne."""
        return self.rate * self._bearable_s

    def waits(self, waiting: int, now: float) -> None:
        """One more waits, or one has given up."""
        if not waiting:
            self._window_from = None
        elif self._window_from is None:
            self._open_window(waiting, now)
        elif now - self._window_from >= WINDOW_S:
            self._measure(waiting, now)
        self._judge(waiting, now)

    def served(self, waiting: int, now: float) -> None:
        """One that waited has its turn."""
        self._served += 1
        self.waits(waiting, now)

    def refused(self, now: float) -> None:
        """One more has come in vain: there was no room for it to wait."""
        self._refused_at = now

    def _open_window(self, waiting: int, now: float) -> None:
        self._window_from, self._waited, self._served = now, waiting, 0

    def _measure(self, waiting: int, now: float) -> None:
        """Learn how many are served a second, while there is always one more who waits, and whether they get fewer."""
        assert self._window_from is not None  # noqa: S101 - there is a window
        rate = self._served / (now - self._window_from)
        self.rate = rate if not self.rate else (1 - _NEW) * self.rate + _NEW * rate
        if 2 * (self._waited - waiting) > self._served and not self._in_vain(now):
            self._late_since = None  # fewer than half as many come as are served: it will be over
        self._open_window(waiting, now)

    def _in_vain(self, now: float) -> bool:
        """Whether some have just come in vain."""
        return now - self._refused_at <= RECENT_S

    def _judge(self, waiting: int, now: float) -> None:
        if self.on:
            self._relax(now, calm=waiting <= self.room / 8 and not self._in_vain(now))
        elif not self._in_vain(now) and (not self.rate or waiting <= self.bearable):
            self._late_since = None
        elif self._late_since is None:
            self._late_since = now
        elif now - self._late_since >= self._burst_s:
            self._turn(on=True)

    def _relax(self, now: float, *, calm: bool) -> None:
        """End it when hardly anybody has waited for a while: a gap in a flood is no end of it."""
        if not calm:
            self._calm_since = None
        elif self._calm_since is None:
            self._calm_since = now
        elif now - self._calm_since >= CALM_S:
            self._turn(on=False)

    def _turn(self, *, on: bool) -> None:
        self.on, self._late_since, self._calm_since = on, None, None
        self._told(on)
