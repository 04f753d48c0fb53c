"""Section 4: a run's history, read and streamed."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.web.support import PATIENCE_S, EventStream, FarSide, Person, assert_invalid, assert_problem


async def history(person: Person, run: Any, query: str = "") -> Any:
    return (await person.get(f"/process-runs/{run['id']}/events{query}")).json


async def streamed(person: Person, run: Any, **headers: str) -> list[Any]:
    """What a stream sends until it ends by itself."""
    async with EventStream(person, run["id"], **headers) as stream:
        return [event async for event in stream]


async def test_the_history_has_every_event_in_order(ann: Person) -> None:
    run = await ann.start("line", {"amount": 5})
    found = await history(ann, run)
    assert [event["seq"] for event in found] == list(range(1, run["version"] + 1))
    assert (found[0]["type"], found[-1]["type"]) == ("run_started", "gate_opened")
    assert all(event["at"].endswith("Z") for event in found)


async def test_the_history_goes_on_after_a_place(ann: Person) -> None:
    run = await ann.start("line", {"amount": 5})
    whole = await history(ann, run)
    assert await history(ann, run, "?after=0") == whole
    assert await history(ann, run, "?after=4") == whole[4:]
    assert await history(ann, run, "?after=4&limit=1") == whole[4:5]
    assert await history(ann, run, "?after=999") == []
    assert await history(ann, run, "?after=999999999999999999") == []


@pytest.mark.parametrize("after", ["-1", "x", "", "1.5", "9" * 19])
async def test_a_place_that_is_no_number_is_422(ann: Person, after: str) -> None:
    run = await ann.start("quick")
    assert_invalid(await ann.get(f"/process-runs/{run['id']}/events?after={after}"), "/after")


async def test_pages_of_the_history_lead_through_all_of_it(ann: Person) -> None:
    run = await ann.start("line", {"amount": 5})
    found: list[Any] = []
    address = f"/process-runs/{run['id']}/events?limit=2&after=1"
    while address:
        answer = await ann.get(address)
        found.append(answer.json)
        address = answer.headers.get("Link", "").partition(">")[0].removeprefix("<")
    assert [event for page in found for event in page] == (await history(ann, run))[1:]
    assert {len(page) for page in found[:-1]} == {2}


async def test_the_history_is_the_same_after_a_restart(ann: Person) -> None:
    run = await ann.start("line", {"amount": 5})
    before = await history(ann, run)
    await ann.house.restart()
    assert await history(ann, run) == before


async def test_a_stream_sends_the_history_then_what_comes_and_ends_with_the_run(ann: Person) -> None:
    run = await ann.start("line", {"amount": 5})
    async with EventStream(ann, run["id"], X_Request_ID="mine") as stream:
        assert stream.response.status == 200
        assert stream.response.headers["Content-Type"] == "text/event-stream"
        assert stream.response.headers["X-Request-ID"] == "mine"
        assert stream.response.headers["Server"] == "penstock"
        first = [await anext(stream) for _ in range(run["version"])]
        await ann.resume(run, "signoff")
        rest = [event async for event in stream]
    whole = await history(ann, run)
    assert [event["data"] for event in (*first, *rest)] == whole
    assert [(event["id"], event["event"]) for event in first + rest] == [(e["seq"], e["type"]) for e in whole]
    assert rest[-1]["event"] == "run_ended"


async def test_a_stream_goes_on_behind_the_last_event_that_was_seen(ann: Person) -> None:
    run = await ann.start("line", {"amount": 5})
    await ann.resume(run, "signoff")
    whole = await history(ann, run)
    for seen in (0, 1, 7, len(whole) - 1):
        found = await streamed(ann, run, Last_Event_ID=str(seen))
        assert [event["data"] for event in found] == whole[seen:]


async def test_a_stream_begins_after_a_place_when_nothing_was_seen(ann: Person) -> None:
    run = await ann.start("quick")
    async with ann.house.client.get(
        f"/process-runs/{run['id']}/events?after=2", headers={**ann.bearer, "Accept": "text/event-stream"}
    ) as response:
        assert (await response.text()).startswith("id: 3\n")


async def test_nothing_is_sent_any_more_behind_the_end(ann: Person) -> None:
    run = await ann.start("quick")
    for seen in (run["version"], run["version"] + 5):
        headers = {"Accept": "text/event-stream", "Last-Event-ID": str(seen)}
        answer = await ann.get(f"/process-runs/{run['id']}/events", **headers)
        assert (answer.status, answer.raw) == (204, b"")


@pytest.mark.parametrize("seen", ["", "x", "-1", "1.0", "9" * 19, "٣"])
async def test_a_last_event_id_that_is_none_is_422(ann: Person, seen: str) -> None:
    run = await ann.start("quick")
    headers = {"Accept": "text/event-stream", "Last-Event-ID": seen}
    assert_invalid(await ann.get(f"/process-runs/{run['id']}/events", **headers), "")


async def test_a_reader_who_comes_back_again_and_again_misses_and_repeats_nothing(ann: Person) -> None:
    run = await ann.start("loop")
    seen: list[int] = []

    async def read() -> None:
        ended = False
        while not ended:
            last = str(seen[-1]) if seen else "0"
            async with EventStream(ann, run["id"], Last_Event_ID=last) as stream:
                for _ in range(3):
                    event = await anext(stream, None)
                    if event is None:
                        break
                    seen.append(event["id"])
                    ended = event["event"] == "run_ended"

    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        group.create_task(read())
        for _ in range(15):
            await ann.resume(run, "again", "once more")
        done = (await ann.resume(run, "again", "enough")).json
    assert seen == list(range(1, done["version"] + 1))


async def test_many_readers_see_the_same(ann: Person) -> None:
    run = await ann.start("loop")
    readers = [asyncio.create_task(streamed(ann, run)) for _ in range(10)]
    for _ in range(5):
        await ann.resume(run, "again", "once more")
    await ann.resume(run, "again", "enough")
    found = await asyncio.gather(*readers)
    whole = await history(ann, run)
    assert [[event["data"] for event in one] for one in found] == [whole] * 10


async def test_a_stream_shows_a_call_under_way_and_its_end(ann: Person, far: FarSide) -> None:
    far.open.clear()
    await ann.connect("answers", far.url)
    run = (await ann.post("/process-runs/", {"vertical": "quick"}, Prefer="respond-async")).json
    async with EventStream(ann, run["id"]) as stream:
        before = [(await anext(stream))["event"] for _ in range(run["version"])]
        far.open.set()
        after = [event["event"] async for event in stream]
    assert (before[0], after[0], after[-1]) == ("run_started", "call_settled", "run_ended")


async def test_a_cancellation_ends_the_stream(ann: Person) -> None:
    run = await ann.start("line", {"amount": 5})
    async with EventStream(ann, run["id"], Last_Event_ID=str(run["version"])) as stream:
        await ann.post(f"/process-runs/{run['id']}/cancel")
        (ended,) = [event async for event in stream]
    assert (ended["event"], ended["data"]["status"]) == ("run_ended", "cancelled")


@pytest.mark.one_daemon
async def test_a_stream_of_a_cancelled_run_waits_for_what_comes_of_its_call(ann: Person, far: FarSide) -> None:
    far.open.clear()
    await ann.connect("answers", far.url)
    run = (await ann.post("/process-runs/", {"vertical": "quick"}, Prefer="respond-async")).json
    await far.arrived.wait()
    async with EventStream(ann, run["id"], Last_Event_ID=str(run["version"])) as early:
        ended = (await ann.post(f"/process-runs/{run['id']}/cancel")).json
        assert (ended["status"], (await anext(early))["event"]) == ("cancelled", "run_ended")
        async with EventStream(ann, run["id"], Last_Event_ID=str(ended["version"])) as late:
            assert late.response.status == 200
            far.open.set()
            found = [[event async for event in stream] for stream in (early, late)]
    assert [[event["event"] for event in events] for events in found] == [["call_settled"]] * 2
    now = await ann.run(run)
    assert (now["status"], now["trace"][0]["status"], now["trace"][0]["output"]) == ("cancelled", "done", far.answer)
    assert [event["data"] for event in found[0]] == (await history(ann, run))[-1:]


@pytest.mark.one_daemon
async def test_a_shutdown_ends_the_stream(ann: Person) -> None:
    run = await ann.start("line", {"amount": 5})
    async with EventStream(ann, run["id"], Last_Event_ID=str(run["version"])) as stream:
        ann.house.services.feed.close()
        assert [event async for event in stream] == []


@pytest.mark.parametrize("wanted", ["Text/Event-Stream", "application/json;q=0.1, TEXT/EVENT-STREAM"])
async def test_the_case_of_the_media_type_does_not_matter(ann: Person, wanted: str) -> None:
    run = await ann.start("quick")
    async with EventStream(ann, run["id"], Accept=wanted) as stream:
        assert stream.response.content_type == "text/event-stream"


async def test_a_stream_of_an_unknown_run_is_404(ann: Person) -> None:
    unknown = "/process-runs/01990000-0000-7000-8000-000000000000/events"
    assert_problem(await ann.get(unknown, Accept="text/event-stream"), 404, "not_found")
