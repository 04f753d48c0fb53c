"""Admission: who is worked on, who waits, who is refused."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest

from actors.actor import Overloaded
from daemon.web.admission import AHEAD_MAX, SHORTENED_AT_ONCE, SLOT, Admission, Slot, aside
from daemon.web.siege import Siege


def waiting(admission: Admission, *companies: str) -> list[asyncio.Task[None]]:
    """One who waits for each of these companies, in this order."""
    return [asyncio.get_running_loop().create_task(admission.enter(company)) for company in companies]


async def settled() -> None:
    """Let every task go on as far as it can."""
    for _ in range(5):
        await asyncio.sleep(0)


async def end(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_so_many_are_worked_on_at_once_and_the_next_waits() -> None:
    admission = Admission(2, 10)
    await admission.enter("a")
    await admission.enter("a")
    (third,) = waiting(admission, "a")
    await settled()
    assert not third.done()
    admission.leave()
    await third


async def test_a_company_alone_may_fill_half_of_the_places_to_wait() -> None:
    admission = Admission(1, 10)
    await admission.enter("a")
    tasks = waiting(admission, *"aaaaa")
    await settled()
    assert admission.is_full("a")
    assert not admission.is_full("b")
    with pytest.raises(Overloaded):
        await admission.enter("a")
    assert admission.refused == 1
    await end(*tasks)


async def test_who_was_refused_is_refused_until_some_places_are_free_again() -> None:
    admission = Admission(1, 64)
    await admission.enter("a")
    tasks = waiting(admission, *"a" * 32)
    await settled()
    assert admission.is_full("a")
    admission.leave()
    await settled()
    assert admission.is_full("a")
    for _ in range(3):
        admission.leave()
        await settled()
    assert not admission.is_full("a")
    await end(*tasks)


async def test_the_greedy_end_up_with_equal_shares_and_leave_one_for_another() -> None:
    admission = Admission(1, 64)
    await admission.enter("x")
    tasks: list[asyncio.Task[None]] = []
    for _ in range(200):
        for company in "abc":
            while not admission.is_full(company):
                tasks += waiting(admission, company)
                await settled()
        admission.leave()
        await settled()
    held = [sum(not turn.done() for _, turn in admission._queues[company]) for company in "abc"]
    assert all(13 <= count <= 17 for count in held), held
    assert not admission.is_full("z")
    await end(*tasks)


async def test_the_companies_take_turns_however_many_wait_of_one() -> None:
    admission, order = Admission(1, 100), list[str]()
    await admission.enter("x")

    async def served(company: str) -> None:
        await admission.enter(company)
        order.append(company)

    tasks = [asyncio.get_running_loop().create_task(served(company)) for company in "aaaabbc"]
    await settled()
    for _ in tasks:
        admission.leave()
        await settled()
    assert "".join(order) == "abcabaa"
    await asyncio.gather(*tasks)


async def test_one_who_stops_waiting_is_passed_over() -> None:
    admission = Admission(1, 10)
    await admission.enter("a")
    gone, patient = waiting(admission, "a", "a")
    await settled()
    await end(gone)
    admission.leave()
    await patient


async def test_one_who_goes_just_when_it_is_their_turn_gives_it_on() -> None:
    admission = Admission(1, 10)
    await admission.enter("a")
    gone, patient = waiting(admission, "a", "a")
    await settled()
    admission.leave()
    await end(gone)
    await settled()
    assert patient.done()


async def test_without_places_to_wait_the_next_is_refused_at_once() -> None:
    admission = Admission(1, 0)
    await admission.enter("a")
    assert admission.crowded
    with pytest.raises(Overloaded):
        await admission.enter("b")
    admission.leave()
    await admission.enter("b")


async def test_who_waits_for_something_outside_leaves_the_slot_to_others() -> None:
    admission = Admission(1, 10)
    await admission.enter("a")
    slot = Slot(admission)
    token = SLOT.set(slot)
    with aside():
        await asyncio.wait_for(admission.enter("b"), 1)
    (third,) = waiting(admission, "c")
    await settled()
    admission.leave()
    await settled()
    assert not third.done()  # both are back: one slot is taken twice
    slot.leave()
    await third
    SLOT.reset(token)


@dataclass
class Bytes:
    """A request that waits as it has come."""

    number: int
    fate: list[str]

    def admitted(self, data: bytes) -> None:
        self.fate.append(f"let in {self.number}")

    def too_late(self, data: bytes) -> None:
        self.fate.append(f"refused {self.number}")


async def test_when_a_siege_begins_the_newest_are_refused_who_would_have_to_wait_too_long() -> None:
    siege = Siege()
    admission, fate = Admission(1, 10_000, siege, now=lambda: 0.0), list[str]()
    await admission.enter("x")
    tasks = waiting(admission, *"a" * AHEAD_MAX)
    await settled()
    for number in range(100):
        admission.hold("a", Bytes(number, fate), b"")
    siege.on, siege.rate = True, 12.0  # of those that wait as bytes, 60 come to their turn in the bearable 5 s
    for _ in range(6):
        admission.leave()
        await settled()
    assert [one for one in fate if one.startswith("let in")] == [f"let in {number}" for number in range(6)]
    assert [one for one in fate if one.startswith("refused")] == [f"refused {number}" for number in range(99, 64, -1)]
    assert fate.index("let in 1") == SHORTENED_AT_ONCE + 1  # it holds up nobody
    assert admission.refused == 35
    await end(*tasks)


async def test_a_slot_is_given_back_once() -> None:
    admission = Admission(1, 0)
    await admission.enter("a")
    slot = Slot(admission)
    slot.leave()
    slot.leave()
    await admission.enter("a")
    with pytest.raises(Overloaded):
        await admission.enter("a")
