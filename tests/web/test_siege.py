"""A siege told from a burst, on a clock of its own: what is served, what waits for how long, and what is refused."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field

import pytest

from actors.actor import Overloaded
from daemon.web.admission import Admission
from daemon.web.siege import Siege

STEP_S = 0.05
AT_ONCE = 20
RATE = AT_ONCE / STEP_S


@dataclass
class World:
    """A service that works on twenty requests in each twentieth of a second, and those who ask it."""

    waiting_max: int = 20_000
    late_s: float = 30.0
    now: float = 1_000.0
    busy: int = 0
    besieged: bool = False
    asked: Counter[str] = field(default_factory=Counter)
    served: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    waits: dict[str, list[float]] = field(default_factory=dict)
    worked: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.siege = Siege(bearable_s=4.0, burst_s=2.0, besieged_s=1.0)
        self.admission = Admission(AT_ONCE, self.waiting_max, self.siege, late_s=self.late_s, now=lambda: self.now)
        self.tasks: set[asyncio.Task[None]] = set()

    def arrive(self, company: str, count: int = 1) -> None:
        """So many requests of a company arrive; those that are refused as bytes go no further."""
        for _ in range(count):
            self.asked[company] += 1
            if self.admission.crowded and self.admission.is_full(company):
                self.admission.in_vain()
                self.refused[company] += 1
                continue
            task = asyncio.get_running_loop().create_task(self._ask(company))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)

    async def step(self) -> None:
        """Work for a while."""
        await self._settled()
        self.worked.append(self.busy)
        for _ in range(self.busy):
            self.busy -= 1
            self.admission.leave()
            self.besieged = self.admission.besieged  # a connection looks when it has answered
        self.now += STEP_S
        await self._settled()

    async def flood(self, seconds: float, **each_s: float) -> None:
        """Companies ask so much a second for that time."""
        for number in range(round(seconds / STEP_S)):
            for company, rate in each_s.items():
                self.arrive(company, int((number + 1) * rate * STEP_S) - int(number * rate * STEP_S))
            await self.step()

    async def until_calm(self) -> float:
        """Work until nobody waits; returns how long that took."""
        began = self.now
        await self._settled()
        while self.busy or self.admission.waiting:
            await self.step()
        return self.now - began

    def forget(self) -> None:
        """Count anew from here."""
        for counted in (self.asked, self.served, self.refused, self.waits, self.worked):
            counted.clear()

    async def _ask(self, company: str) -> None:
        began = self.now
        try:
            await self.admission.enter(company)
        except Overloaded:
            self.refused[company] += 1
            return
        self.busy += 1
        self.served[company] += 1
        self.waits.setdefault(company, []).append(self.now - began)

    async def _settled(self) -> None:
        for _ in range(4):
            await asyncio.sleep(0)


async def test_a_burst_waits_and_is_served_to_the_last() -> None:
    world = World()
    world.arrive("a", 3_200)  # twice what can be borne
    await world.until_calm()
    assert world.served["a"] == 3_200
    assert not world.refused


async def test_thousands_who_each_ask_again_when_they_are_answered_are_never_refused() -> None:
    world = World()
    world.arrive("a", 1_500)
    for _ in range(400):
        before = world.served["a"]
        await world.step()
        world.arrive("a", world.served["a"] - before)
    assert world.served["a"] > 19 * RATE
    assert not world.refused
    await world.until_calm()


async def test_ten_times_too_much_for_long_is_refused_and_the_rest_done_at_full_speed() -> None:
    world = World(waiting_max=4_000)
    await world.flood(12, a=10 * RATE)
    assert world.siege.on
    world.forget()
    await world.flood(5, a=10 * RATE)
    assert set(world.worked) == {AT_ONCE}  # it never waits for work
    assert world.refused["a"] >= 0.85 * world.asked["a"]
    assert max(world.waits["a"]) <= 4.0


async def test_after_a_siege_all_is_normal_within_the_bearable_time() -> None:
    world = World(waiting_max=4_000)
    await world.flood(15, a=10 * RATE)
    assert await world.until_calm() <= 4.0
    world.forget()
    await world.flood(2, a=RATE / 2)
    assert not world.admission.besieged
    assert max(world.waits["a"]) <= STEP_S
    world.arrive("a", 1_900)  # a burst is welcome again
    await world.until_calm()
    assert not world.refused


async def test_a_gap_in_a_flood_does_not_end_a_siege() -> None:
    world = World(waiting_max=4_000)
    await world.flood(12, a=10 * RATE)
    await world.until_calm()
    await world.flood(0.5, a=RATE / 2)
    assert world.admission.besieged
    assert not world.admission.is_full("a")
    await world.flood(1.5, a=RATE / 2)
    assert not world.admission.besieged


@pytest.mark.parametrize("flooded_s", [2.0, 6.0, 12.0], ids=["burst", "siege begun", "siege"])
async def test_one_company_at_twenty_times_its_share_neither_slows_nor_shuts_out_another(flooded_s: float) -> None:
    world = World()
    await world.flood(flooded_s, greedy=10 * RATE)
    assert world.siege.on == (flooded_s > 5.5)
    world.forget()
    await world.flood(2, greedy=10 * RATE, modest=RATE / 4)
    assert world.refused["modest"] == 0
    assert max(world.waits["modest"]) <= 2 * STEP_S
    assert world.served["modest"] >= 0.9 * world.asked["modest"]
    await world.until_calm()


async def test_in_a_siege_by_more_companies_than_there_are_places_each_may_have_one_that_waits() -> None:
    world = World()
    await world.flood(6, greedy=10 * RATE)
    for number in range(3_000):
        world.arrive(f"c{number}")
    await world.until_calm()
    assert world.siege.room < 3_000
    assert set(world.refused) == {"greedy"}


async def test_two_who_ask_too_much_are_served_alike_however_differently_they_ask() -> None:
    world = World(waiting_max=4_000)
    await world.flood(12, some=4 * RATE, more=16 * RATE)
    world.forget()
    await world.flood(4, some=4 * RATE, more=16 * RATE)
    assert abs(world.served["some"] - world.served["more"]) <= 0.1 * world.served["more"]


async def test_who_has_waited_too_long_is_refused_instead_of_served() -> None:
    world = World(late_s=1.0)
    world.arrive("a", 1_000)
    await world.until_calm()
    assert world.refused["a"] > 500
    assert max(world.waits["a"]) <= 1.0 + STEP_S


async def test_where_there_is_no_room_to_wait_for_long_it_is_a_siege_though_the_wait_could_be_borne() -> None:
    world = World(waiting_max=1_000)  # half of them are served in less than the bearable time
    await world.flood(1.5, a=10 * RATE)
    assert not world.siege.on
    await world.flood(1.5, a=10 * RATE)
    assert world.siege.on


async def test_in_a_siege_the_wait_is_short() -> None:
    world = World(waiting_max=4_000)
    await world.flood(9, a=10 * RATE)  # what came before the siege is served meanwhile
    world.forget()
    await world.flood(3, a=10 * RATE)
    assert max(world.waits["a"]) <= 0.5 + STEP_S  # one alone has half of the places
    assert set(world.worked) == {AT_ONCE}
