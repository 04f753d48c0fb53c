"""What happens in all runs of a company, read and streamed: in order, without a gap, and nothing
twice.
"""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from daemon.model.audit_events import COMMIT_MACS, SERVICE, CommitsAdopted, HistoryRewound, Logged
from daemon.model.event_log import BEGINNING, Position
from tests.histories import NOON
from tests.web.support import PATIENCE_S, CompanyStream, EventStream, House, Person, assert_invalid

NOWHERE = "0-0"


async def everything(person: Person, query: str = "") -> list[Any]:
    """All pages."""
    found: list[Any] = []
    address = f"/events{query}"
    while address:
        answer = await person.get(address)
        assert answer.status == 200, answer.raw
        found += answer.json
        address = answer.headers.get("Link", "").partition(">")[0].removeprefix("<")
    return found


async def read(person: Person, number: int, query: str = "", **headers: str) -> list[Any]:
    """So many events of a stream."""
    async with CompanyStream(person, query, **headers) as stream:
        return [await anext(stream) for _ in range(number)]


async def test_the_list_has_every_event_of_every_run_with_its_place(ann: Person) -> None:
    first, second = await ann.start("line", {"amount": 5}), await ann.start("quick")
    await ann.resume(first, "signoff")
    found = await everything(ann)
    assert len({one["id"] for one in found}) == len(found)
    for run in (first, second):
        history = (await ann.get(f"/process-runs/{run['id']}/events")).json
        assert [one["event"] for one in found if one["run_id"] == run["id"]] == history
        assert [one["seq"] for one in found if one["run_id"] == run["id"]] == [one["seq"] for one in history]
    assert {one["run_id"] for one in found} == {first["id"], second["id"]}
    assert all(one.keys() == {"id", "run_id", "seq", "event"} for one in found)


async def test_the_list_goes_on_after_a_place_and_in_pages(ann: Person) -> None:
    await ann.start("line", {"amount": 5})
    await ann.start("quick")
    whole = await everything(ann)
    assert await everything(ann, "?after=0") == whole
    assert await everything(ann, "?limit=2") == whole
    for seen in (0, 3, len(whole) - 1):
        assert await everything(ann, f"?after={whole[seen]['id']}") == whole[seen + 1 :]
        assert (await ann.get(f"/events/?after={whole[seen]['id']}&limit=1")).json == whole[seen + 1 : seen + 2]


@pytest.mark.parametrize("after", ["x", "", "1", "-1", "1-", "1-2-3", "1.5", "٣-1", f"{'9' * 19}-1"])
async def test_a_place_that_is_none_is_422(ann: Person, after: str) -> None:
    assert_invalid(await ann.get(f"/events?after={after}"), "/after")
    answer = await ann.get("/events", Accept="text/event-stream", Last_Event_ID=after)
    assert_invalid(answer, "")
    assert answer.json["detail"].startswith("Not valid: Last-Event-ID has to be the id of an event")


async def test_an_id_of_a_history_that_was_lost_is_410_and_says_where_to_begin(ann: Person) -> None:
    """As a reader finds it who heard of more than a restored or promoted database has."""
    run = await ann.start("line", {"amount": 5})
    company_id, store = ann.session["company"]["id"], ann.house.services.store
    read = await store.read_after(company_id, BEGINNING, 9)
    other, beyond = (read[1].position, b"lost"), (Position(read[-1].position.commit + 9, 1), read[-1].mark)
    for place, mark in (other, beyond):
        lost = store.event_ids.encode(company_id, place, mark)
        for answer in (
            await ann.get(f"/events?after={lost}"),
            await ann.get("/events", Accept="text/event-stream", Last_Event_ID=lost),
        ):
            assert (answer.status, answer.json["code"], answer.json["first"]) == (410, "history_changed", "0")
    first = read[1].position.commit
    await store.log(Logged(company_id, HistoryRewound(at=NOON, commits=1, first=first, via="failover")))
    lost = store.event_ids.encode(company_id, *other)
    answer = await ann.get("/events", Accept="text/event-stream", Last_Event_ID=lost)
    again = [store.event_ids.parse(company_id, one["id"]) for one in await everything(ann)]
    behind = await everything(ann, f"?after={answer.json['first']}")
    assert [one["id"] for one in behind] == [
        store.event_ids.encode(company_id, *found) for found in again if found is not None and found[0].commit >= first
    ]
    path = f"/process-runs/{run['id']}/events"
    answer = await ann.get(path, Accept="text/event-stream", Last_Event_ID="99")
    assert (answer.status, answer.json["code"], answer.json["first"]) == (410, "history_changed", "0")


async def test_streams_end_where_the_database_has_failed_over_so_that_their_readers_come_back(
    ann: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = await ann.start("line", {"amount": 5})
    async with CompanyStream(ann, "?after=0") as all_runs, EventStream(ann, run["id"]) as one_run:
        for stream in (all_runs, one_run):
            assert [(await anext(stream))["data"]["seq"] for _ in range(run["version"])] == [
                *range(1, 1 + run["version"])
            ]
        monkeypatch.setattr(type(ann.house.services.store), "failovers", 1)
        await ann.resume(run, "signoff")
        for stream in (all_runs, one_run):
            assert [one async for one in stream] == []


async def test_a_stream_sends_nothing_that_it_has_read_behind_a_failover(
    ann: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, store = await ann.start("line", {"amount": 5}), ann.house.services.store
    recorded = store.history

    async def fails_over(*asked: Any, **more: Any) -> Any:
        monkeypatch.setattr(type(store), "failovers", store.failovers + 1)
        return await recorded(*asked, **more)

    monkeypatch.setattr(store, "history", fails_over)
    async with EventStream(ann, run["id"]) as stream:
        assert [one async for one in stream] == []


async def test_a_stream_begins_at_the_present_and_sends_what_comes(ann: Person) -> None:
    await ann.start("quick")
    before = len(await everything(ann))
    async with CompanyStream(ann, "", X_Request_ID="mine") as stream:
        assert stream.response.status == 200
        assert stream.response.headers["Content-Type"] == "text/event-stream"
        assert stream.response.headers["X-Request-ID"] == "mine"
        run = await ann.start("line", {"amount": 5})
        found = [await anext(stream) for _ in range(run["version"])]
    whole = (await everything(ann))[before:]
    assert [one["data"] for one in found] == whole
    assert [(one["id"], one["event"]) for one in found] == [(one["id"], one["event"]["type"]) for one in whole]


async def test_a_stream_says_where_it_begins_so_that_a_reader_cut_off_at_once_misses_nothing(ann: Person) -> None:
    await ann.start("quick")
    async with CompanyStream(ann, "") as stream:
        first = (await stream.response.content.readline()).decode()
    run = await ann.start("quick")
    begun = first.removeprefix("id: ").strip()
    found = await read(ann, run["version"], Last_Event_ID=begun)
    assert {one["data"]["run_id"] for one in found} == {run["id"]}


async def test_a_stream_goes_on_behind_the_event_that_was_seen_last(ann: Person) -> None:
    await ann.start("line", {"amount": 5})
    whole = await everything(ann)
    for seen in (0, 3, len(whole) - 2):
        rest = whole[seen + 1 :]
        by_header = await read(ann, len(rest), Last_Event_ID=whole[seen]["id"])
        by_query = await read(ann, len(rest), f"?after={whole[seen]['id']}")
        assert [one["data"] for one in by_header] == [one["data"] for one in by_query] == rest
    assert [one["data"] for one in await read(ann, len(whole), "?after=0")] == whole


async def test_nobody_sees_the_events_of_another_company(ann: Person, eve: Person) -> None:
    async with CompanyStream(eve, "") as stream:
        theirs = await ann.start("line", {"amount": 5})
        own = await eve.start("quick")
        found = [await anext(stream) for _ in range(own["version"])]
    assert {one["data"]["run_id"] for one in found} == {own["id"]}
    assert {one["run_id"] for one in await everything(eve)} == {own["id"]}
    assert {one["run_id"] for one in await everything(ann)} == {theirs["id"]}
    place = (await everything(ann))[0]["id"]
    assert_invalid(await eve.get(f"/events?after={place}"), "/after")


async def test_readers_who_come_back_again_and_again_miss_and_repeat_nothing(ann: Person, house: House) -> None:
    async def follow() -> list[str]:
        """All places up to the end of the one run that is of another template than the others."""
        seen: list[str] = []
        last = None
        while True:
            async with CompanyStream(ann, "", Last_Event_ID=seen[-1] if seen else NOWHERE) as stream:
                for _ in range(7):
                    one = await anext(stream)
                    seen.append(one["id"])
                    event, run_id = one["data"]["event"], one["data"]["run_id"]
                    last = run_id if event.get("vertical") == "quick" else last
                    if run_id == last and event["type"] == "run_ended":
                        return seen

    async def work() -> None:
        for _ in range(6):
            run = await ann.start("loop")
            await ann.resume(run, "again", "once more")
            await house.services.sealer.seal()
            await ann.resume(run, "again", "enough")

    async with asyncio.timeout(3 * PATIENCE_S), asyncio.TaskGroup() as group:
        readers = [group.create_task(follow()) for _ in range(3)]
        async with asyncio.TaskGroup() as workers:
            for _ in range(5):
                workers.create_task(work())
        last = await ann.start("quick")
    whole = [one["id"] for one in await everything(ann)]
    assert len(whole) == len(set(whole)) > 30 * 8
    assert (await everything(ann))[-1]["run_id"] == last["id"]
    assert [reader.result() for reader in readers] == [whole] * 3


async def test_a_reader_who_is_asleep_while_much_happens_gets_all_of_it(ann: Person) -> None:
    async with CompanyStream(ann, "?after=0") as stream:
        for _ in range(60):
            await ann.start("quick")
        whole = await everything(ann, "?limit=200")
        found = [await anext(stream) for _ in whole]
    assert [one["data"] for one in found] == whole


async def test_places_stay_the_same_after_sealing_and_a_restart(ann: Person, house: House) -> None:
    await ann.start("line", {"amount": 5})
    before = await everything(ann)
    await house.services.sealer.seal()
    assert await everything(ann) == before
    await house.restart()
    await ann.start("quick")
    after = await everything(ann)
    assert after[: len(before)] == before
    assert len({one["id"] for one in after}) == len(after)


@pytest.mark.one_daemon
async def test_a_shutdown_ends_the_company_stream(ann: Person, house: House) -> None:
    async with CompanyStream(ann, "") as stream:
        await stream.response.content.readline()
        house.services.feed.close()
        assert [event async for event in stream] == []


async def test_ids_say_nothing_of_how_much_other_companies_do(ann: Person, eve: Person) -> None:
    for _ in range(3):
        await ann.start("quick")
        await eve.start("quick")
    async with CompanyStream(ann, "?after=0") as stream:
        streamed = await anext(stream)
    listed = await everything(ann)
    assert listed[0]["id"] == streamed["id"] == streamed["data"]["id"]
    ids = [one["id"] for one in listed]
    assert not any(re.fullmatch(r"[0-9]+-[0-9]+", one) for one in ids)
    assert {len(one) for one in ids} == {43}
    assert ids != sorted(ids)


async def test_a_place_that_an_earlier_version_gave_out_is_taken_and_no_later_one(ann: Person, house: House) -> None:
    await ann.start("quick")
    store: Any = house.services.store
    whole = await everything(ann)
    (first, *_) = await store.read_after(ann.session["company"]["id"], BEGINNING, 9)
    plain = f"{first.position.commit}-{first.position.nth}"
    assert_invalid(await ann.get(f"/events?after={plain}"), "/after")
    until = first.position.commit
    adopted = CommitsAdopted(at=house.services.now(), key="k", number=until, until=until, via="service")
    await store.log(Logged(SERVICE, adopted, COMMIT_MACS))
    await house.restart()
    assert await everything(ann, f"?after={plain}") == whole[1:]
    assert_invalid(await ann.get(f"/events?after={until + 1}-1"), "/after")
