"""A siege: more is asked than can be done, and that for longer than a burst lasts."""

from __future__ import annotations

from collections.abc import Callable

BEARABLE_S = 5.0
BURST_S = 10.0
CALM_S = 1.0
WINDOW_S = 0.25
LEAST = 64
_NEW = 0.1  # how much of a rate is what was seen last


class Siege:
    """Tells a burst from a siege by the wait, which is how many wait divided by how many are served a second.

    A burst may wait: it is over when it is served. Where the wait has been longer than can be borne for `burst_s`
    without a break it is a siege: from then on as many may wait as are served in that bearable time, until hardly
    anybody has waited for a second.
    """

    def __init__(
        self,
        bearable_s: float = BEARABLE_S,
        burst_s: float = BURST_S,
        told: Callable[[bool], None] = lambda _: None,
    ) -> None:
        """Begin in peace, knowing nothing about how many are served; `told` hears when a siege begins and ends."""
        self.on = False
        self.rate = 0.0
        self._bearable_s = bearable_s
        self._burst_s = burst_s
        self._told = told
        self._late_since: float | None = None
        self._calm_since: float | None = None
        self._window_from: float | None = None
        self._served = 0

    @property
    def places(self) -> float:
        """How many may wait in a siege: those that are served in the bearable time."""
        return max(LEAST, self.rate * self._bearable_s)

    def waits(self, waiting: int, now: float) -> None:
        """One more waits, or one has given up."""
        if not waiting:
            self._window_from = None
        elif self._window_from is None:
            self._window_from, self._served = now, 0
        elif now - self._window_from >= WINDOW_S:
            self._measure(now)
        self._judge(waiting, now)

    def served(self, waiting: int, now: float) -> None:
        """One that waited has its turn."""
        self._served += 1
        self.waits(waiting, now)

    def _measure(self, now: float) -> None:
        """Learn how many are served a second, while there is always one more who waits."""
        assert self._window_from is not None  # noqa: S101 - there is a window
        rate = self._served / (now - self._window_from)
        self.rate = rate if not self.rate else (1 - _NEW) * self.rate + _NEW * rate
        self._window_from, self._served = now, 0

    def _judge(self, waiting: int, now: float) -> None:
        bearable = self.rate * self._bearable_s
        if self.on:
            self._relax(now, calm=waiting <= min(LEAST, bearable / 8))
        elif not self.rate or waiting <= bearable:
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
