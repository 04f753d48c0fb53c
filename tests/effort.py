"""How much work something is, in a unit that is the same on a slow machine."""

from __future__ import annotations

from time import process_time
from typing import Self

AROUND = 100_000


class Effort:
    """How many additions of small numbers the machine does in the processor time of what is within.

    They are done before and after it; a machine of today does some 20 million in a second.
    """

    additions: float

    def __enter__(self) -> Self:
        self._before_s = _add_up()
        self._began = process_time()
        return self

    def __exit__(self, *_: object) -> None:
        took_s = process_time() - self._began
        self.additions = AROUND * took_s / max(self._before_s, _add_up())


def seconds_for(additions: int) -> float:
    """How long the machine takes for so many, now."""
    return additions / AROUND * _add_up()


def _add_up() -> float:
    """Return the seconds that it took."""
    began, total = process_time(), 0
    for number in range(AROUND):
        total += number
    return process_time() - began
