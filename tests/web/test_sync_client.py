"""The client for code without asyncio, in threads beside the service that it calls."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

import pytest

from daemon.client import HistoryChanged, Penstock, Problem, SyncPenstock, Unreachable
from daemon.client.blocking import Blocking, BlockingList
from daemon.client.transport import Patience
from daemon.model.event_log import Position
from tests.web.between import LOST_AFTER, Between
from tests.web.support import House, Person


@pytest.fixture
async def line(house: House) -> AsyncIterator[Between]:
    async with Between(house) as between:
        yield between


def test_every_method_of_the_client_is_there_and_waits() -> None:
    there = {name: method for name, method in inspect.getmembers(Penstock, callable) if not name.startswith("_")}
    waiting = {name: one for name, one in inspect.getmembers(SyncPenstock) if isinstance(one, Blocking | BlockingList)}
    assert len(there) > 80
    assert waiting.keys() == there.keys()
    for name, method in there.items():
        assert isinstance(waiting[name], Blocking) == inspect.iscoroutinefunction(method), name
        assert waiting[name].__doc__ == method.__doc__


async def test_a_run_goes_from_its_start_over_its_gate_to_its_end(line: Between) -> None:
    def use() -> None:
        with SyncPenstock(line.url) as api:
            session = api.register("bob@bob.test", "correct horse", "Bob inc")
            assert (api.token, api.me().user.email) == (session.token, "bob@bob.test")
            run = api.start("line", inputs={"amount": 5})
            assert run.gate is not None
            assert [(one.run_id, one.gate.step_id) for one in api.gates(mine=True)] == [(run.id, "signoff")]
            run = api.resume(run.id, gate="signoff", decision="approved", digest=run.gate.digest)
            assert (run.status, run.outcome) == ("completed", "paid")
            assert [event.seq for event in api.watch(run.id)] == list(range(1, run.version + 1))
            with pytest.raises(Problem) as refused:
                api.resume(run.id, gate="signoff", decision="approved")
            assert refused.value.code == "not_parked"

    await asyncio.to_thread(use)


async def test_a_request_whose_response_was_lost_counts_once(line: Between, ann: Person) -> None:
    def use() -> None:
        with SyncPenstock(line.url, ann.token) as api:
            line.faults += [LOST_AFTER]
            made = api.start("line", inputs={"amount": 5})
            assert [run.id for run in api.runs()] == [made.id]

    await asyncio.to_thread(use)


async def test_threads_share_a_client(line: Between, ann: Person) -> None:
    def use() -> None:
        with SyncPenstock(line.url, ann.token) as api, ThreadPoolExecutor(4) as threads:
            made = {
                run.id for run in threads.map(lambda amount: api.start("line", inputs={"amount": amount}), range(8))
            }
            assert len(made) == 8
            assert {run.id for run in api.runs(limit=3)} == made

    await asyncio.to_thread(use)


async def test_a_stream_ends_where_the_loop_over_it_is_left(line: Between, ann: Person) -> None:
    def use() -> None:
        with SyncPenstock(line.url, ann.token) as api:
            run = api.start("line", inputs={"amount": 5})
            left = api.watch(run.id)
            assert [event.seq for event in islice(left, 2)] == [1, 2]
            unread = api.watch(run.id)
            assert next(unread).seq == 1
        assert list(islice(left, 0)) == []
        del left, unread

    await asyncio.to_thread(use)


async def test_a_listener_is_told_where_the_database_has_lost_what_was_read(line: Between, ann: Person) -> None:
    def use(lost: str) -> None:
        with SyncPenstock(line.url, ann.token) as api:
            every = list(api.happened())
            told, *again = islice(api.listen(after=lost), 1 + len(every))
            assert isinstance(told, HistoryChanged)
            assert (told.first, again) == ("0", every)

    await ann.start("quick")
    event_ids = ann.house.services.store.event_ids
    await asyncio.to_thread(use, event_ids.encode(ann.session["company"]["id"], Position(1, 1), b"lost"))


def test_a_service_that_is_not_there_is_unreachable_and_a_closed_client_says_so() -> None:
    with (
        SyncPenstock("http://127.0.0.1:1", patience=Patience(tries_max=1)) as api,
        pytest.raises(Unreachable, match="connection refused"),
    ):
        api.me()
    with pytest.raises(RuntimeError, match="outside of `with`"):
        api.me()
