"""Background loops: one that fails is started again, is known to be down meanwhile, and some stop
the process.
"""

from __future__ import annotations

import ast
import asyncio
import errno
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from actors import failpoints
from actors.core.messages import Outcome, Wake
from daemon.engine.due_runs import Timers
from daemon.runtime.background import RETRY_MAX_S, VOID_S, Background, Clock, Loop
from daemon.runtime.clock import utc_now

DAEMON = Path(__file__).parents[2] / "daemon"
PATIENCE_S = 10.0
# Who makes tasks, and why each of them is looked after: short pieces of work end in answers, the
# writer in the process.
OWNERS = {
    "engine/dispatcher.py",
    "notifications/notifier.py",
    "runtime/background.py",
    "sso/provider.py",
    "sso/service.py",
    "stores/group_commit.py",
    "stores/postgres/connection.py",
    "stores/postgres/hosts.py",
    "web/resources/mcp/calls.py",
    "web/sse.py",
    "webhooks/deliverer.py",
}


class Hurried(Clock):
    """A clock on which a pause is over at once, and noted."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pauses: list[float] = []

    def monotonic(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.pauses.append(seconds)
        await asyncio.sleep(0)


class Kept:
    """Loops on a hurried clock, and what they have told."""

    def __init__(self, stack: AsyncExitStack) -> None:
        self.clock = Hurried()
        self.stops: list[float] = []
        self.counted: Counter[str] = Counter()
        self.background = Background(stop=self._stop, count=self._count, clock=self.clock)
        self._stack = stack

    def keep(self, loop: Loop) -> None:
        self.background.start(self._stack, loop)

    def _stop(self) -> None:
        self.stops.append(self.clock.now)

    def _count(self, name: str) -> None:
        self.counted[name] += 1


@pytest.fixture
async def kept() -> AsyncIterator[Kept]:
    async with AsyncExitStack() as stack:
        yield Kept(stack)


class Faulty:
    """Work that fails so many times, and then is done."""

    def __init__(self, faults: int) -> None:
        self.faults = faults
        self.rounds = 0
        self.done = asyncio.Event()

    async def __call__(self) -> None:
        self.rounds += 1
        if self.rounds <= self.faults:
            raise OSError(errno.EMFILE, "canary of a path")
        self.done.set()


async def until(fits: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not fits():  # noqa: ASYNC110 - on a hurried clock each turn is a step
            await asyncio.sleep(0)


async def soon(event: asyncio.Event) -> None:
    async with asyncio.timeout(PATIENCE_S):
        await event.wait()


async def test_a_loop_that_fails_is_started_again_later_each_time_and_goes_on(kept: Kept) -> None:
    work = Faulty(9)
    kept.keep(Loop("work", work, 1.0))
    await soon(work.done)
    assert kept.clock.pauses[:9] == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, RETRY_MAX_S, RETRY_MAX_S]
    work.done.clear()
    await soon(work.done)
    assert kept.clock.pauses[9] == 1.0


async def test_a_loop_is_down_until_a_round_of_it_succeeds_and_each_failure_is_counted(kept: Kept) -> None:
    work, well = Faulty(3), Faulty(0)
    kept.keep(Loop("work", work, 1.0))
    kept.keep(Loop("well", well, 1.0))
    assert kept.background.down == []
    await until(lambda: work.rounds > 0)
    assert kept.background.down == ["work"]
    await soon(work.done)
    await asyncio.sleep(0)
    assert (kept.background.down, kept.counted) == ([], {"work": 3})


async def test_a_failure_is_logged_with_its_place_and_nothing_of_what_it_was_about(kept: Kept) -> None:
    work = Faulty(1)
    with capture_logs() as logged:
        kept.keep(Loop("work", work, 1.0))
        await soon(work.done)
        await asyncio.sleep(0)
    failed, recovered = logged
    assert (failed["event"], failed["loop"], failed["error"], failed["errno"]) == (
        *("background_loop_failed", "work", "OSError"),
        errno.EMFILE,
    )
    assert failed["where"].startswith(f"{__file__}:")
    assert (recovered["event"], recovered["failures"]) == ("background_loop_recovered", 1)
    assert "canary" not in str(logged)


async def test_where_a_promise_is_void_the_process_is_stopped_after_a_bounded_time(kept: Kept) -> None:
    kept.keep(Loop("vital", Faulty(100), 1.0, vital=True))
    await until(lambda: bool(kept.stops))
    assert VOID_S <= kept.stops[0] <= VOID_S + RETRY_MAX_S


async def test_failures_with_successes_in_between_stop_nothing_and_no_more_do_those_of_other_loops(kept: Kept) -> None:
    rounds = 0

    async def every_other() -> None:
        nonlocal rounds
        rounds += 1
        if rounds % 2:
            raise OSError

    kept.keep(Loop("vital", every_other, 1.0, vital=True))
    kept.keep(Loop("other", Faulty(1_000), 1.0))
    await until(lambda: kept.clock.now > 20 * VOID_S)
    assert kept.stops == []
    assert set(kept.background.down) >= {"other"}


async def test_when_the_service_ends_no_loop_is_left() -> None:
    before = asyncio.all_tasks()
    async with AsyncExitStack() as stack:
        kept = Kept(stack)
        kept.keep(Loop("well", Faulty(0), 1.0))
        kept.keep(Loop("work", Faulty(1_000), 1.0))
        await asyncio.sleep(0)
        assert asyncio.all_tasks() > before
    assert asyncio.all_tasks() == before
    assert kept.background.down == []


async def test_a_timer_that_could_not_be_posted_is_posted_when_its_loop_goes_on(kept: Kept) -> None:
    posted: list[str] = []
    done = asyncio.Event()
    faults = 5

    def post(_company_id: str, run_id: str, _outcome: Outcome) -> None:
        posted.append(run_id)
        if len(posted) == 3:
            done.set()

    def fail(name: str) -> None:
        nonlocal faults
        if name == "timer-due" and faults:
            faults -= 1
            raise OSError(errno.EIO, "the clock is gone")

    timers = Timers(post, utc_now)
    failpoints.arm(fail)
    try:
        kept.keep(Loop("timers", timers.post_due, 0.0, vital=True))
        wakes = [
            Wake("acme", f"run-{number}", "wait", 1, at=utc_now() + timedelta(milliseconds=number))
            for number in range(3)
        ]
        for wake in wakes:
            timers.wake(wake)
        await soon(done)
    finally:
        failpoints.disarm()
    await asyncio.sleep(0)
    assert posted == ["run-0", "run-1", "run-2"]
    assert kept.counted == {"timers": 5}
    assert not any(timers.under_way(wake) for wake in wakes)


def test_whoever_makes_a_task_in_the_daemon_sees_to_it() -> None:
    found = set()
    for path in DAEMON.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = getattr(node.func, "attr", "") if isinstance(node, ast.Call) else ""
            if name in {"create_task", "ensure_future", "TaskGroup"}:
                found.add(path.relative_to(DAEMON).as_posix())
    assert found == OWNERS
