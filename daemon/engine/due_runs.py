"""Wake-ups, which a restart derives anew from runs, and the runs of which something is due."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta

import structlog

from actors.actor import Overloaded, Stopped
from actors.core.messages import Due, Elapsed, Outcome, Rejected, Review, Wake
from actors.core.run import Run
from actors.directory import Directory
from actors.failpoints import reach
from actors.ports import StoreFailed
from daemon.model import DueRun
from daemon.runtime.background import where_raised
from daemon.stores.store import Store


class Timers:
    """One wake-up per visit, posted back as Elapsed when it is due.

    A due wake-up is queued until `post_due` has posted it, so that none is lost.
    """

    def __init__(self, post: Callable[[str, str, Outcome], None], now: Callable[[], datetime]) -> None:
        self._post = post
        self._now = now
        self._handles: dict[str, asyncio.TimerHandle] = {}
        self._due_wakes: deque[Wake] = deque()
        self._wakes_due = asyncio.Event()

    def wake(self, wake: Wake) -> None:
        if wake.key in self._handles:
            return
        delay_s = 0.0 if wake.at is None else max(0.0, (wake.at - self._now()).total_seconds())
        self._handles[wake.key] = asyncio.get_running_loop().call_later(delay_s, self._due, wake)

    def under_way(self, wake: Wake) -> bool:
        return wake.key in self._handles

    def close(self) -> None:
        for handle in self._handles.values():
            handle.cancel()
        self._handles.clear()
        self._due_wakes.clear()

    async def post_due(self) -> None:
        """Wait until a timer is due, and post all that are."""
        while not self._due_wakes:
            self._wakes_due.clear()
            await self._wakes_due.wait()
        while self._due_wakes:
            wake = self._due_wakes[0]
            reach("timer-due")
            self._post(wake.company_id, wake.run_id, Elapsed(step_id=wake.step_id, visit=wake.visit, at=self._now()))
            self._due_wakes.popleft()
            del self._handles[wake.key]

    def _due(self, wake: Wake) -> None:
        self._due_wakes.append(wake)
        self._wakes_due.set()


LOOK_S = 1.0
BATCH = 500
REVIEWS_MAX = 25
PAUSE_S = 0.05
FAULTY_MAX = 1_000
_log = structlog.get_logger("penstock")


class DueRuns:
    """Tells runs when a deadline, a reminder or a wait is due.

    The times stand in the rows of the runs, so that none is lost with a process. A run that is told
    and stays as it is would be told forever: it is passed over until it changes.
    """

    def __init__(self, store: Store, directory: Directory, now: Callable[[], datetime]) -> None:
        self._store = store
        self._directory = directory
        self._now = now
        self._earlier = asyncio.Event()
        self._next: datetime | None = None
        self._faulty: dict[tuple[str, str], datetime] = {}

    def committed(self, run: Run, _: object = ()) -> None:
        """Look sooner where something of a run is due before the next look."""
        if run.wake_at is not None and (self._next is None or run.wake_at < self._next):
            self._earlier.set()

    async def run_once(self) -> None:
        """Tell all runs of which something is due, or wait for the next time or commit."""
        self._earlier.clear()
        now = self._now()
        self._next = now + timedelta(seconds=LOOK_S)
        found = await self._store.due(self._next, BATCH + len(self._faulty))
        found = [one for one in found if self._faulty.get(one[:2]) != one.wake_at]
        if ripe := [one for one in found if one.wake_at <= now]:
            if not all(await asyncio.gather(*map(self._tell, ripe))):
                await asyncio.sleep(PAUSE_S)
            return
        self._next = min((one.wake_at for one in found), default=self._next)
        with suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, (self._next - self._now()).total_seconds())):
                await self._earlier.wait()

    async def _tell(self, due: DueRun) -> bool:
        """Whether the run has done what was due, or never will."""
        key = (due.company_id, due.run_id)
        try:
            done = await self._directory.ask(key, Due(at=self._now()))
        except (StoreFailed, Stopped, Overloaded):
            return False
        except Exception as error:  # noqa: BLE001 - one broken run must not keep others from their time
            self._pass_over(due, where_raised(error))
            return True
        if isinstance(done, Rejected) or done.run.wake_at == due.wake_at:
            self._pass_over(due, "it stays as it is")
        return True

    def _pass_over(self, due: DueRun, why: str) -> None:
        if len(self._faulty) >= FAULTY_MAX:
            self._faulty.clear()
        self._faulty[due.company_id, due.run_id] = due.wake_at
        about = {"company_id": due.company_id, "run_id": due.run_id, "due_at": due.wake_at.isoformat()}
        _log.error("due_run_passed_over", **about, why=why)


class Reviewer:
    """Has runs look again at who may decide, when people or connectors of their company changed."""

    def __init__(self, store: Store, directory: Directory, now: Callable[[], datetime]) -> None:
        self._store = store
        self._directory = directory
        self._now = now
        self._changed: dict[str | None, None] = {None: None}
        self._wanted = asyncio.Event()
        self._wanted.set()

    def changed(self, company_id: str) -> None:
        """The people, the calendar or the connectors of a company have changed."""
        self._changed[company_id] = None
        self._wanted.set()

    async def work(self) -> None:
        """Review the next company; at first all of them, since a process may have ended before."""
        await self._wanted.wait()
        company_id = next(iter(self._changed))
        del self._changed[company_id]
        try:
            looked = await self._review(company_id)
        except StoreFailed:
            self._changed[company_id] = None
            raise
        if not looked:
            self._changed[company_id] = None
            await asyncio.sleep(PAUSE_S)
        if not self._changed:
            self._wanted.clear()

    async def _review(self, company_id: str | None) -> bool:
        """Whether all runs have looked, or never will."""
        loop = asyncio.get_running_loop()
        after: tuple[str, str] | None = ("", "")
        looked = True
        while after is not None:
            began = loop.time()
            keys = await self._store.reviewed(company_id, after, REVIEWS_MAX)
            looked = all(await asyncio.gather(*map(self._look_again, keys))) and looked
            after = keys[-1] if len(keys) == REVIEWS_MAX else None
            if after is not None:
                await asyncio.sleep(loop.time() - began)  # half of the time is for requests
        return looked

    async def _look_again(self, key: tuple[str, str]) -> bool:
        try:
            await self._directory.ask(key, Review(at=self._now()))
        except (StoreFailed, Stopped, Overloaded):
            return False
        except Exception as error:  # noqa: BLE001 - one broken run must not keep others from their review
            about = {"company_id": key[0], "run_id": key[1], "error": type(error).__name__}
            _log.error("review_failed", **about, where=where_raised(error))
        return True
