"""How much work something is, counted: a clock would tell of the machine and of its other work."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any, Self, TypeVar

T = TypeVar("T")
SHARE = 16
GROWTH_MAX = 6 * SHARE
"""What is linear grows by `SHARE`, what is quadratic by its square."""
LEAST_S = 0.0001
"""Of what takes less, the machine's own noise would be compared."""
TRIES = 20


class Effort:
    """The lines of Python that this thread runs within, and the functions that it calls, by name.

    What a function written in C does by itself is one call, so a test of such work asks which
    functions were called here, or what they were given.
    """

    def __init__(self) -> None:
        self.steps = 0
        """Lines and calls."""
        self.called: Counter[str] = Counter()
        """Functions written in C, by their qualified names."""

    def calls(self, name: str) -> int:
        """How often a function written in C was called here: `decode`, or `Decoder.decode`."""
        return sum(count for full, count in self.called.items() if f".{full}".endswith(f".{name}"))

    def __enter__(self) -> Self:
        self._before = sys.gettrace(), sys.getprofile()
        sys.settrace(self._enter)
        sys.setprofile(self._call)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(self._before[1])
        sys.settrace(self._before[0])

    def _enter(self, _frame: FrameType, _event: str, _arg: Any) -> Any:
        self.steps += 1
        return self._line

    def _line(self, _frame: FrameType, event: str, _arg: Any) -> Any:
        self.steps += event == "line"
        return self._line

    def _call(self, _frame: FrameType, event: str, arg: Any) -> None:
        if event == "c_call":
            self.steps += 1
            self.called[getattr(arg, "__qualname__", repr(arg))] += 1


def grows_with_its_size(work: Callable[[T], object], made: Callable[[int], T], size: int) -> bool:
    """Whether work inside C, which nothing can count, takes time in proportion to its size.

    The same work is compared with itself at another size, and its best try counts: what else the
    machine does makes a try longer, and none shorter.
    """
    small, large = made(size // SHARE), made(size)
    for _ in range(TRIES):
        if _seconds(work, large) <= GROWTH_MAX * max(LEAST_S, min(_seconds(work, small) for _ in range(3))):
            return True
    return False


def _seconds(work: Callable[[T], object], given: T) -> float:
    """Of the processor, for this thread."""
    began = time.thread_time()
    work(given)
    return time.thread_time() - began
