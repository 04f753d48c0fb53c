"""The group-commit writer: batches without waiting, failures without bystanders, and an answer for
everybody.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from actors.ports import StoreFailed, VersionConflict
from daemon.model import DiskFull, StoreBroken
from daemon.stores.group_commit import Writer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from daemon.stores.group_commit import BatchEngine

Kept = list[int]
Work = Callable[[Kept], Any]


class Ledger:
    """An engine over a list, whose commits wait at a gate and fail on demand."""

    def __init__(self) -> None:
        self.kept: Kept = []
        self.batches: list[int] = []
        self.rests = 0
        self.open = asyncio.Event()
        self.open.set()
        self.began = asyncio.Event()
        self.failures: list[Exception] = []

    async def apply(self, works: Sequence[Callable[[Kept], Any]]) -> Sequence[tuple[Any, Exception | None]]:
        self.began.set()
        await self.open.wait()
        if self.failures:
            raise self.failures.pop(0)
        self.batches.append(len(works))
        return [self._one(work) for work in works]

    async def after_batch(self) -> None:
        self.rests += 1

    def _one(self, work: Callable[[Kept], Any]) -> tuple[Any, Exception | None]:
        try:
            return work(self.kept), None
        except VersionConflict as conflict:
            return None, conflict


def keep(number: int) -> Callable[[Kept], int]:
    def work(kept: Kept) -> int:
        kept.append(number)
        return number * 10

    return work


def conflict(_kept: Kept) -> None:
    raise VersionConflict


@asynccontextmanager
async def writing(engine: BatchEngine[Work], **how: Any) -> AsyncIterator[Writer[Work]]:
    writer = Writer(engine, **how)
    try:
        yield writer
    finally:
        await writer.close()


async def held(ledger: Ledger, writer: Writer[Work]) -> asyncio.Task[int]:
    """A batch of one that has come to the engine and waits there."""
    ledger.open.clear()
    ledger.began.clear()
    first = asyncio.create_task(writer.submit(keep(0)))
    await ledger.began.wait()
    return first


def outcome(result: object) -> str:
    assert isinstance(result, StoreFailed)
    return result.outcome


async def answers(*tasks: asyncio.Future[Any]) -> list[Any]:
    return await asyncio.gather(*tasks, return_exceptions=True)


async def queued(writer: Writer[Work], *numbers: int) -> list[asyncio.Task[int]]:
    tasks = [asyncio.create_task(writer.submit(keep(n))) for n in numbers]
    await asyncio.sleep(0)
    return tasks


async def test_a_single_write_is_answered_at_once() -> None:
    ledger = Ledger()
    async with writing(ledger) as writer:
        assert await writer.submit(keep(7)) == 70
    assert (ledger.kept, ledger.batches, ledger.rests) == ([7], [1], 1)


async def test_what_gathers_during_one_batch_is_the_next_one() -> None:
    ledger = Ledger()
    async with writing(ledger) as writer:
        first = await held(ledger, writer)
        more = await queued(writer, *range(1, 8))
        ledger.open.set()
        assert await answers(first, *more) == [n * 10 for n in range(8)]
    assert ledger.batches == [1, 7]


async def test_a_batch_is_no_larger_than_allowed() -> None:
    ledger = Ledger()
    async with writing(ledger, batch_max=3) as writer:
        first = await held(ledger, writer)
        more = await queued(writer, *range(1, 8))
        ledger.open.set()
        await answers(first, *more)
    assert ledger.batches == [1, 3, 3, 1]


async def test_a_refused_work_fails_alone() -> None:
    ledger = Ledger()
    async with writing(ledger) as writer:
        results = await asyncio.gather(
            writer.submit(keep(1)), writer.submit(conflict), writer.submit(keep(2)), return_exceptions=True
        )
        assert [type(one) for one in results] == [int, VersionConflict, int]
        assert not writer.failed


async def test_a_batch_that_was_rolled_back_fails_whole_and_the_next_one_goes_through() -> None:
    ledger = Ledger()
    ledger.failures.append(StoreFailed("disk full", "not_applied"))
    async with writing(ledger) as writer:
        results = await answers(*await queued(writer, 1, 2))
        assert [outcome(one) for one in results] == ["not_applied", "not_applied"]
        assert results[0] is not results[1]
        assert await writer.submit(keep(3)) == 30
        assert not writer.failed


@pytest.mark.parametrize("failure", [StoreFailed("commit failed", "unknown"), RuntimeError("what nobody expected")])
async def test_after_a_commit_that_nobody_knows_of_all_are_answered_and_nothing_is_taken(failure: Exception) -> None:
    ledger, alarms = Ledger(), []
    ledger.failures.append(failure)
    async with writing(ledger, batch_max=2, on_failed=lambda: alarms.append("failed")) as writer:
        first = await held(ledger, writer)
        more = await queued(writer, 1, 2, 3)
        ledger.open.set()
        assert [outcome(one) for one in await answers(first, *more)] == ["unknown"] + ["not_applied"] * 3
        assert writer.failed
        with pytest.raises(StoreFailed, match="has failed") as refused:
            await writer.submit(keep(4))
        assert refused.value.outcome == "not_applied"
    assert alarms == ["failed"]
    assert ledger.kept == []


async def test_a_full_queue_refuses_and_keeps_what_it_has() -> None:
    ledger = Ledger()
    async with writing(ledger, queue_max=2) as writer:
        first = await held(ledger, writer)
        results = await queued(writer, 1, 2, 3)
        assert outcome((await answers(results[2]))[0]) == "not_applied"
        ledger.open.set()
        assert await answers(first, *results[:2]) == [0, 10, 20]


async def test_closing_finishes_what_is_queued_and_takes_nothing_more() -> None:
    ledger = Ledger()
    writer = Writer(ledger)
    first = await held(ledger, writer)
    more = await queued(writer, 1, 2)
    closing = asyncio.create_task(writer.close())
    await asyncio.sleep(0)
    with pytest.raises(StoreFailed, match="is closed"):
        await writer.submit(keep(3))
    ledger.open.set()
    await closing
    assert await answers(first, *more) == [0, 10, 20]
    assert not writer.failed


async def test_whoever_stops_waiting_stops_neither_the_write_nor_the_others() -> None:
    ledger = Ledger()
    async with writing(ledger) as writer:
        first = await held(ledger, writer)
        second, third = await queued(writer, 1, 2)
        first.cancel()
        second.cancel()
        await answers(first, second)
        ledger.open.set()
        assert await third == 20
    assert ledger.kept == [0, 1, 2]


async def test_a_writer_that_is_torn_down_leaves_nobody_waiting() -> None:
    ledger, alarms = Ledger(), []
    writer = Writer(ledger, on_failed=lambda: alarms.append("failed"))
    first = await held(ledger, writer)
    more = await queued(writer, 1)
    writer._task.cancel()
    assert [outcome(one) for one in await answers(first, *more)] == ["unknown", "not_applied"]
    assert writer.failed
    assert alarms == ["failed"]
    await writer.close()


class PanelVerdict:
    """Metrics that remember."""

    def __init__(self) -> None:
        self.batches: list[tuple[int, bool]] = []
        self.failures: list[str] = []

    def batch(self, works: int, seconds: float) -> None:
        self.batches.append((works, 0 < seconds < 60))

    def store_failure(self, kind: str) -> None:
        self.failures.append(kind)


async def test_each_batch_is_told_with_its_size_and_how_long_it_took() -> None:
    ledger, heard = Ledger(), PanelVerdict()
    async with writing(ledger, metrics=heard) as writer:
        first = await held(ledger, writer)
        more = await queued(writer, 1, 2, 3)
        ledger.open.set()
        await answers(first, *more)
    assert heard.batches == [(1, True), (3, True)]
    assert heard.failures == []


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (StoreFailed("locked", "not_applied"), "not_applied"),
        (DiskFull("no room", "not_applied"), "full"),
        (StoreBroken("no disk", "not_applied"), "broken"),
        (StoreFailed("no commit", "unknown"), "unknown"),
        (RuntimeError("what nobody expected"), "unknown"),
    ],
)
async def test_each_failure_is_told_once_with_its_kind(failure: Exception, kind: str) -> None:
    ledger, heard = Ledger(), PanelVerdict()
    ledger.failures.append(failure)
    async with writing(ledger, metrics=heard) as writer:
        await answers(*await queued(writer, 1, 2))
    assert (heard.failures, heard.batches) == ([kind], [])


def state_of(writer: Writer[Work]) -> str:
    return writer.state


async def test_its_state_is_what_the_last_batch_has_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger()
    async with writing(ledger) as writer:
        assert state_of(writer) == "ok"
        for failure, state in (
            (DiskFull("full", "not_applied"), "full"),
            (StoreFailed("busy", "not_applied"), "failed"),
        ):
            ledger.failures = [failure]
            await answers(*await queued(writer, 1))
            assert state_of(writer) == state
        await writer.submit(keep(2))
        assert state_of(writer) == "ok"
        first = await held(ledger, writer)
        assert state_of(writer) == "ok"
        monkeypatch.setattr("daemon.stores.group_commit.STALLED_S", 0.0)
        assert state_of(writer) == "stalled"
        ledger.open.set()
        await first
    assert state_of(writer) == "ok"


async def test_one_work_that_meets_a_full_disk_alone_is_enough_to_say_so() -> None:
    class Full(Ledger):
        def _one(self, work: Callable[[Kept], Any]) -> tuple[Any, Exception | None]:
            return None, DiskFull("full", "not_applied")

    async with writing(Full()) as writer:
        await answers(*await queued(writer, 1))
        assert state_of(writer) == "full"
