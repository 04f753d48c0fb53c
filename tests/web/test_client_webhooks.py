"""The client's view of what happens in all runs, and of webhooks, over a line that fails."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from daemon.client import CompanyEvent, HistoryChanged, Patience, Penstock, Problem, Unreachable
from daemon.model.audit_events import HistoryRewound, Logged
from daemon.model.event_log import BEGINNING
from tests.histories import NOON
from tests.web.between import LOST_AFTER, LOST_BEFORE, Between, Fault, said
from tests.web.support import PATIENCE_S, FarSide, House, Person

BUSY = said(503, "overloaded", outcome="not_applied")


async def _at_once(_: float) -> None:
    await asyncio.sleep(0)


@pytest.fixture
async def line(house: House) -> AsyncIterator[Between]:
    async with Between(house) as between:
        yield between


@pytest.fixture
async def api(line: Between, ann: Person) -> AsyncIterator[Penstock]:
    """A client with ann's token."""
    async with Penstock(line.url, ann.token, patience=Patience(tries_max=4, sleep=_at_once)) as one:
        yield one


async def first(found: AsyncIterator[CompanyEvent | HistoryChanged], count: int) -> list[CompanyEvent | HistoryChanged]:
    """The first so many; the stream is let go then."""
    async with asyncio.timeout(PATIENCE_S):
        return [await anext(found) for _ in range(count)]


async def test_what_happened_in_all_runs_is_read_page_after_page_and_from_any_place(api: Penstock) -> None:
    runs = [await api.start("line", inputs={"amount": one}) for one in range(30)]
    every = [one async for one in api.happened()]
    assert {one.run_id for one in every} == {run.id for run in runs}
    assert len(every) == sum(run.version for run in runs)
    assert [(one.event.seq, one.event.type) for one in every if one.run_id == runs[0].id] == [
        (event.seq, event.type) async for event in api.events(runs[0].id)
    ]
    assert [one async for one in api.happened(after=every[60].id)] == every[61:]


async def test_a_listener_hears_what_comes_and_nothing_of_before(api: Penstock, ann: Person) -> None:
    before, since = await api.start("quick"), set()
    listening = asyncio.create_task(first(api.listen(), 1))
    while not listening.done():
        since.add((await ann.start("quick"))["id"])
    (heard,) = listening.result()
    assert isinstance(heard, CompanyEvent)
    assert heard.run_id != before.id
    assert heard.run_id in since


@pytest.mark.parametrize("cut_at", [10, 120, 700, 1_500, 3_000])
async def test_a_listener_hears_each_event_once_over_lost_connections(
    api: Penstock, line: Between, cut_at: int
) -> None:
    for one in range(4):
        await api.start("line", inputs={"amount": one})
    every = [one async for one in api.happened()]
    line.faults = [Fault("cut", after_bytes=cut_at), LOST_BEFORE, BUSY, Fault("cut", after_bytes=cut_at)]
    assert await first(api.listen(after="0"), len(every)) == every
    assert line.faults == [] or cut_at == 3_000


async def test_a_listener_is_told_where_the_database_has_lost_what_was_read(api: Penstock, ann: Person) -> None:
    for _ in range(2):
        await api.start("quick")
    every = [one async for one in api.happened()]
    company_id, store = ann.session["company"]["id"], ann.house.services.store
    read = await store.read_after(company_id, BEGINNING, len(every))
    lost = store.event_ids.encode(company_id, read[-1].position, b"lost")
    told, *again = await first(api.listen(after=lost), 1 + len(every))
    assert isinstance(told, HistoryChanged)
    assert (told.first, again) == ("0", every)
    place = next(index for index, one in enumerate(every) if one.run_id != every[0].run_id)
    rewound = HistoryRewound(at=NOON, commits=1, first=read[place].position.commit, via="failover")
    await store.log(Logged(company_id, rewound))
    told, *again = await first(api.listen(after=lost), 1 + len(every) - place)
    assert isinstance(told, HistoryChanged)
    assert again == every[place:] == [one async for one in api.happened(after=told.first)]


async def test_a_watcher_of_a_run_is_told_where_its_events_are_lost(api: Penstock) -> None:
    run = await api.start("line", inputs={"amount": 5})
    async with asyncio.timeout(PATIENCE_S):
        with pytest.raises(Problem) as lost:
            await anext(api.watch(run.id, after=run.version + 9))
        assert (lost.value.code, lost.value.more) == ("history_changed", {"first": "0"})
        followed = api.follow(run.id, after=run.version + 9)
        told, *again = [await anext(followed) for _ in range(1 + run.version)]
    assert isinstance(told, HistoryChanged)
    assert again == [one async for one in api.events(run.id)]


async def test_a_listener_who_has_no_answer_is_told(api: Penstock, line: Between) -> None:
    line.faults = [LOST_BEFORE] * 20
    with pytest.raises(Unreachable):
        await first(api.listen(), 1)
    line.faults = []
    with pytest.raises(Problem, match="id of an event"):
        await first(api.listen(after="yesterday"), 1)


async def test_a_webhook_is_made_once_changed_tried_and_forgotten(api: Penstock, line: Between, far: FarSide) -> None:
    line.faults = [LOST_AFTER]
    made = await api.add_webhook(far.url, events=["run_ended"], description="the duty phone")
    assert made.secret.startswith("whsec_")
    assert made.secret not in repr(made)
    assert [one.id async for one in api.webhooks()] == [made.id]
    assert (await api.webhook(made.id)).events == ("run_ended",)
    changed = await api.put_webhook(made.id, f"{far.url}/new")
    assert (changed.url, changed.events, changed.description) == (f"{far.url}/…", None, None)
    assert (await api.test_webhook(made.id)).ok
    assert [one.target for one in far.seen] == ["/new"]
    await api.delete_webhook(made.id)
    await api.delete_webhook(made.id)
    with pytest.raises(Problem):
        await api.webhook(made.id)


async def test_what_was_delivered_is_listed_and_delivered_again(api: Penstock, far: FarSide) -> None:
    hook = await api.add_webhook(far.url, events=["run_ended"])
    run = await api.start("quick")
    async with asyncio.timeout(PATIENCE_S):
        await far.arrived.wait()
        (delivery,) = [one async for one in api.deliveries(hook.id)]
        while delivery.status != "delivered":  # the service knows it later than the receiver
            (delivery,) = [one async for one in api.deliveries(hook.id)]
    assert (delivery.run_id, delivery.seq, delivery.type) == (run.id, run.version, "run_ended")
    far.arrived.clear()
    assert (await api.redeliver(hook.id, delivery.id)).id == delivery.id
    await far.arrived.wait()
    assert len({one.headers["webhook-id"] for one in far.seen}) == 1


async def test_a_test_of_a_webhook_is_not_made_twice(api: Penstock, line: Between, far: FarSide) -> None:
    hook = await api.add_webhook(far.url)
    line.faults = [LOST_AFTER]
    with pytest.raises(Unreachable):
        await api.test_webhook(hook.id)
    assert len(far.seen) == 1
