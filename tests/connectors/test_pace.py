"""The pace of calls: beyond its budget a company waits, and nobody else."""

from __future__ import annotations

from daemon.connectors.retry import Pace, RetryClock


class Waits:
    """A clock that notes how long is slept, and goes on by that."""

    def __init__(self) -> None:
        self.now, self.slept = 0.0, list[float]()

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def clock(self) -> RetryClock:
        return RetryClock(monotonic=lambda: self.now, sleep=self.sleep)


async def test_beyond_its_budget_a_company_waits_for_each_call_and_no_other_does() -> None:
    waits = Waits()
    pace = Pace(60, waits.clock())
    for _ in range(60):
        await pace.keep("acme")
    assert waits.slept == []
    await pace.keep("acme")
    await pace.keep("acme")
    assert waits.slept == [1.0, 1.0]
    await pace.keep("other")
    assert len(waits.slept) == 2


async def test_a_company_that_has_waited_for_a_minute_may_make_all_its_calls_again() -> None:
    waits = Waits()
    pace = Pace(60, waits.clock())
    for _ in range(60):
        await pace.keep("acme")
    waits.now += 60.0
    for _ in range(60):
        await pace.keep("acme")
    assert waits.slept == []
