"""Notices when one turn of the event loop takes long, and says where it was and why.

A background loop beats every `BEAT_S`; a stall is a beat that comes late. A thread looks at the
stack of the loop's thread while a beat is late: `sys._current_frames()` is documented, needs no
signal, which could interrupt the system calls of others, and also works while the loop's thread
waits in C code.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from daemon.observability.logs import ThrottledLog

STALL_S = 0.1
BEAT_S = 0.02
LOOK_S = 0.06
BESIDE_S = 0.01
LOG_EVERY_S = 1.0
FRAMES_MAX = 10
SCHEDSTAT = "/proc/thread-self/schedstat"
OF_THREAD = "/proc/self/task/{}/schedstat"
COLLECTOR, BESIDE = "garbage collector", "another thread was busy"
_ROOT = Path(__file__).parents[2]
_OURS = tuple(f"{_ROOT / name}{os.sep}" for name in ("actors", "daemon"))


class Used(NamedTuple):
    """Seconds used up to a moment: by the loop's thread, the process, the collector."""

    thread_s: float
    process_s: float
    collector_s: float


class LoopWatchdog:
    """Counts the turns of the running loop that take longer than `STALL_S`, and logs them."""

    def __init__(
        self, on_lag: Callable[[float], None] | None = None, on_stall: Callable[[], None] | None = None
    ) -> None:
        """`on_lag` receives the delay of each beat, `on_stall` is called once per stall."""
        self.stalls = 0
        self._on_lag, self._on_stall = on_lag, on_stall
        self._thread_id = threading.get_ident()
        self._counts = False
        self._schedstat = _schedstat()
        self._queued_s = self._queued()
        self._collector_s = self._collecting_since = 0.0
        self._used = self._measure()
        self._due = time.monotonic() + BEAT_S
        self._seen: tuple[float, str] | None = None
        self._beside: tuple[float, str] | None = None
        self._log = ThrottledLog("loop_stalled", LOG_EVERY_S)
        self._ended = threading.Event()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch until the end of the block; what the loop does before and after is not counted."""
        looking = threading.Thread(target=self._look, name="loop-watchdog", daemon=True)
        gc.callbacks.append(self._collects)
        self._used, self._due = self._measure(), time.monotonic() + BEAT_S
        self._counts = True
        looking.start()
        try:
            yield
        finally:
            self._counts = False
            gc.callbacks.remove(self._collects)
            self._ended.set()
            looking.join()
            if self._schedstat is not None:
                os.close(self._schedstat)

    async def beat(self) -> None:
        """Look at the turn since the last beat; to be called every `BEAT_S`."""
        if not self._counts:
            return
        now, used = time.monotonic(), self._measure()
        late_s = now - self._due
        if self._on_lag is not None:
            self._on_lag(max(0.0, late_s))
        took_s = late_s + BEAT_S / 2  # it began at some moment since the beat before
        if took_s >= STALL_S:
            grown = Used(*(after - before for after, before in zip(used, self._used, strict=True)))
            self._stalled(took_s, grown, self._queued() - self._queued_s)
        self._used, self._due = used, time.monotonic() + BEAT_S

    def _stalled(self, took_s: float, used: Used, queued_s: float) -> None:
        self.stalls += 1
        if self._on_stall is not None:
            self._on_stall()
        cause = _cause(took_s, used, queued_s)
        where = self._where(used, took_s, self._beside if cause == BESIDE else self._seen)
        self._log.warn(
            duration_ms=_ms(took_s),
            cpu_ms=_ms(used.thread_s),
            process_cpu_ms=_ms(used.process_s),
            collector_ms=_ms(used.collector_s),
            queued_ms=None if self._schedstat is None else _ms(queued_s),
            cause=cause,
            where=where,
            total=self.stalls,
        )

    def _where(self, used: Used, took_s: float, seen: tuple[float, str] | None) -> str:
        if used.collector_s >= took_s / 2:
            return COLLECTOR
        return seen[1] if seen is not None and seen[0] == self._due else "unknown"

    def _look(self) -> None:
        """Keep the stack of the loop's thread whenever a beat is late; runs in its own thread.

        While none is, it notes how long the loop's thread has queued: to read that in the loop
        would hand the interpreter to other threads at every beat.
        """
        while not self._ended.wait(LOOK_S):
            due = self._due
            if time.monotonic() - due < LOOK_S / 2:
                self._queued_s = self._queued()
            elif self._seen is None or self._seen[0] != due:
                self._seen = due, stack(sys._current_frames().get(self._thread_id))  # noqa: SLF001 - documented
                self._beside = due, self._busiest()

    def _busiest(self) -> str:
        """The stack of the other thread that works most for a moment, behind that thread's name."""
        before, ended = _processor_s(), self._ended.wait(BESIDE_S)
        used = {one: at - before.get(one, at) for one, at in ({} if ended else _processor_s()).items()}
        most = max((one for one in used if one.ident != self._thread_id), key=used.__getitem__, default=None)
        if most is None or most.ident is None or not used[most]:
            return "unknown"
        return f"{most.name}: {stack(sys._current_frames().get(most.ident))}"  # noqa: SLF001 - as above

    def _collects(self, phase: str, _: Mapping[str, Any]) -> None:
        if phase == "start":
            self._collecting_since = time.monotonic()
        else:
            self._collector_s += time.monotonic() - self._collecting_since

    def _measure(self) -> Used:
        return Used(time.thread_time(), time.process_time(), self._collector_s)

    def _queued(self) -> float:
        """How long the loop's thread has waited for a processor, in seconds."""
        return 0.0 if self._schedstat is None else int(os.pread(self._schedstat, 64, 0).split()[1]) / 1e9


def stack(frame: FrameType | None) -> str:
    """The innermost frames of this service, the innermost first; of all code where there is none.

    The innermost frame of a library that was called stands before them.
    """
    frames = list(_named(frame))
    ours = [line for line, own in frames if own]
    first = [frames[0][0]] if frames and not frames[0][1] else []
    return " < ".join((first + (ours or [line for line, _ in frames[1:]]))[:FRAMES_MAX])


def _named(frame: FrameType | None) -> Iterator[tuple[str, bool]]:
    while frame is not None:
        code = frame.f_code
        yield f"{_short(code.co_filename)}:{frame.f_lineno} {code.co_qualname}", code.co_filename.startswith(_OURS)
        frame = frame.f_back


def _short(path: str) -> str:
    return str(Path(path).relative_to(_ROOT)) if path.startswith(_OURS) else "/".join(Path(path).parts[-2:])


def _cause(took_s: float, used: Used, queued_s: float) -> str:
    """What the time went to: the loop's own work, other threads of ours, or neither of them.

    Work that would have been a stall by itself counts, however long the machine let it wait.
    """
    enough_s = min(STALL_S, took_s / 2)
    if used.thread_s >= enough_s:
        return "busy"
    if used.process_s >= enough_s:
        return BESIDE
    return "the machine did not schedule this process" if queued_s >= took_s / 2 else "blocked or not scheduled"


def _processor_s() -> dict[threading.Thread, float]:
    """The processor time of each thread of Python's, where the kernel tells it."""
    found: dict[threading.Thread, float] = {}
    for one in threading.enumerate():
        with suppress(OSError, IndexError):
            figures = Path(OF_THREAD.format(one.native_id)).read_text(encoding="ascii")
            found[one] = int(figures.split()[0]) / 1e9
    return found


def _schedstat() -> int | None:
    """A descriptor on the scheduler's figures of this thread, where the kernel has them."""
    try:
        found = os.open(SCHEDSTAT, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return found if len(os.pread(found, 64, 0).split()) > 1 else None
    except OSError:
        return None


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 1)
