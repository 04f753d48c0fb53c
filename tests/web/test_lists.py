"""Section 1: lists in pages, and the filters of the runs."""

from __future__ import annotations

import base64
import re
from typing import Any

import pytest

from tests.web.support import Answer, Person, assert_invalid, assert_problem

NEXT = re.compile(r'<([^>]+)>; rel="next"')


def following(answer: Answer) -> str | None:
    """The address of the next page."""
    link = answer.headers.get("Link")
    if link is None:
        return None
    found = NEXT.fullmatch(link)
    assert found is not None, link
    return found[1]


async def pages(person: Person, path: str) -> list[Any]:
    """Every page of a list, by following its links."""
    found: list[Any] = []
    address: str | None = path
    while address is not None:
        answer = await person.get(address)
        assert answer.status == 200, answer.raw
        found.append(answer.json)
        address = following(answer)
    return found


async def ids(person: Person, query: str = "") -> list[str]:
    return [run["id"] for run in (await person.get(f"/process-runs/{query}")).json]


async def test_runs_are_listed_newest_first_each_as_it_is_read_alone(ann: Person) -> None:
    started = [await ann.start("quick") for _ in range(3)]
    assert (await ann.get("/process-runs/")).json == started[::-1]


async def test_pages_of_runs_lead_through_all_of_them_once(ann: Person) -> None:
    started = [(await ann.start("quick"))["id"] for _ in range(5)]
    found = await pages(ann, "/process-runs/?limit=2")
    assert [len(page) for page in found] == [2, 2, 1]
    assert [run["id"] for page in found for run in page] == started[::-1]


async def test_a_page_ends_before_it_grows_beyond_its_bytes_and_leads_on(ann: Person) -> None:
    inputs = {"text": "x" * 900_000}
    started = [(await ann.start("quick", inputs))["id"] for _ in range(6)]
    found = await pages(ann, "/process-runs/")
    assert [run["id"] for page in found for run in page] == started[::-1]
    assert [len(page) for page in found] == [4, 2]
    events = await pages(ann, "/events?after=0")
    assert len(events) > 1
    told = [event["run_id"] for page in events for event in page if event["event"]["type"] == "run_started"]
    assert told == started


async def test_a_summary_leaves_out_what_makes_a_run_large(ann: Person) -> None:
    run = await ann.start("quick")
    (summary,) = (await ann.get("/process-runs/?view=summary")).json
    assert set(run) - set(summary) == {"inputs", "facts", "trace"}
    assert summary.items() <= run.items()
    assert_invalid(await ann.get("/process-runs/?view=full"), "/view")


async def test_a_page_that_ends_the_list_announces_no_other(ann: Person) -> None:
    for _ in range(2):
        await ann.start("quick")
    assert following(await ann.get("/process-runs/?limit=2")) is None


async def test_a_page_has_50_entries_unless_it_is_said(ann: Person) -> None:
    for _ in range(51):
        await ann.start("quick")
    answer = await ann.get("/process-runs")
    assert len(answer.json) == 50
    assert following(answer) is not None
    assert len((await ann.get("/process-runs?limit=200")).json) == 51


async def test_runs_that_start_meanwhile_do_not_move_the_next_page(ann: Person) -> None:
    started = [(await ann.start("quick"))["id"] for _ in range(4)]
    first = await ann.get("/process-runs/?limit=2")
    await ann.start("quick")
    second = await ann.get(following(first) or "")
    assert [run["id"] for run in second.json] == started[1::-1]


async def test_runs_are_filtered_by_status_vertical_and_gate(ann: Person) -> None:
    done = (await ann.start("quick"))["id"]
    parked = (await ann.start("line", {"amount": 1}))["id"]
    forked = (await ann.start("fork"))["id"]
    cancelled = (await ann.start("fork"))["id"]
    await ann.post(f"/process-runs/{cancelled}/cancel")
    assert await ids(ann, "?status=completed") == [done]
    assert await ids(ann, "?status=parked") == [forked, parked]
    assert await ids(ann, "?status=cancelled") == [cancelled]
    assert await ids(ann, "?status=executing") == []
    assert await ids(ann, "?status=failed") == []
    assert await ids(ann, "?vertical=fork") == [cancelled, forked]
    assert await ids(ann, "?vertical=unknown") == []
    assert await ids(ann, "?parked_at=signoff") == [parked]
    assert await ids(ann, "?parked_at=finance") == [forked]
    assert await ids(ann, "?parked_at=sign") == []
    assert await ids(ann, "?status=parked&vertical=fork&parked_at=legal") == [forked]
    assert await ids(ann, "?status=completed&vertical=fork") == []


async def test_a_link_keeps_the_filters(ann: Person) -> None:
    wanted = [(await ann.start(vertical))["id"] for vertical in ("fork", "quick", "fork", "quick", "fork")][::2]
    found = await pages(ann, "/process-runs/?vertical=fork&limit=1&status=parked")
    assert [run["id"] for page in found for run in page] == wanted[::-1]


@pytest.mark.parametrize("status", ["", "Parked", "resting", "%00"])
async def test_an_unknown_status_is_422(ann: Person, status: str) -> None:
    assert_invalid(await ann.get(f"/process-runs/?status={status}"), "/status")


@pytest.mark.parametrize("limit", ["0", "201", "-1", "", "ten", "1.5", "%D9%A3", "99999999999999999999"])
@pytest.mark.parametrize("path", ["/process-runs/", "/process-templates/", "/connectors/"])
async def test_a_limit_out_of_bounds_is_422(ann: Person, path: str, limit: str) -> None:
    assert_invalid(await ann.get(f"{path}?limit={limit}"), "/limit")


def cursor(text: bytes) -> str:
    return base64.urlsafe_b64encode(text).decode().rstrip("=")


@pytest.mark.parametrize(
    "given",
    [
        "",
        "x",
        "%00",
        "%ff",
        "é",
        "A" * 5000,
        cursor(b"runs"),
        cursor(b"runs:"),
        cursor(b"runs:not-an-id"),
        cursor(b"\xff\xfe"),
        cursor(b"templates:line"),
        cursor(b"connectors:x"),
        cursor(b"events-x:1"),
    ],
)
async def test_a_cursor_that_is_not_ours_is_400(ann: Person, given: str) -> None:
    answer = await ann.get(f"/process-runs/?cursor={given}")
    assert_problem(answer, 400, "malformed_cursor", retryable=False)


async def test_a_cursor_of_another_list_is_400(ann: Person) -> None:
    for _ in range(2):
        await ann.start("line", {"amount": 1})
    one, two = await ids(ann)
    lists = ["/process-runs/", "/process-templates/", f"/process-runs/{one}/events", f"/process-runs/{two}/events"]
    links = {path: following(await ann.get(f"{path}?limit=1")) or "" for path in lists}
    for path in lists:
        for other in lists:
            answer = await ann.get(f"{path}?{links[other].partition('?')[2]}")
            assert answer.status == (200 if path == other else 400), (path, other)


async def test_a_cursor_shows_another_company_nothing(ann: Person, eve: Person) -> None:
    for _ in range(2):
        await ann.start("quick")
    link = following(await ann.get("/process-runs/?limit=1"))
    answer = await eve.get(link or "")
    assert (answer.status, answer.json) == (200, [])


async def test_pages_of_templates_and_connectors_lead_through_all_of_them(ann: Person) -> None:
    for tool_id in ("b", "a", "Z", "c-1", "c.2"):
        await ann.put(f"/connectors/{tool_id}", {"base_url": "https://api.test"})
    for path in ("/process-templates/", "/connectors/"):
        whole = (await ann.get(f"{path}?limit=200")).json
        found = await pages(ann, f"{path}?limit=2")
        assert [entry for page in found for entry in page] == whole
        assert {len(page) for page in found[:-1]} == {2}


@pytest.mark.parametrize(
    ("path", "pointers"),
    [
        ("/process-runs/?stauts=parked", ["/stauts"]),
        ("/process-runs?status=parked&limt=3&a~b/c=", ["/limt", "/a~0b~1c"]),
        ("/process-templates/quick?digest=", ["/digest"]),
        ("/connectors/?cursor2=", ["/cursor2"]),
        ("/process-runs/?status=parked&status=failed&limit=3", ["/status"]),
        ("/process-runs/?limt=1&limit=1&limit=2", ["/limt", "/limit"]),
    ],
)
async def test_a_parameter_that_is_not_known_or_given_twice_is_refused(
    ann: Person, path: str, pointers: list[str]
) -> None:
    assert_invalid(await ann.get(path), *pointers)
    assert (await ann.send("HEAD", path)).status == 422


async def test_a_parameter_on_what_changes_something_is_refused_before_it_happens(ann: Person) -> None:
    body = {"vertical": "quick"}
    assert_invalid(await ann.post("/process-runs/?dry_run=true", body), "/dry_run")
    assert (await ann.get("/process-runs/")).json == []


async def test_the_page_and_the_documents_take_any_parameter(ann: Person) -> None:
    for path in ("/?from=mail", "/docs?x=1", "/openapi.json?x=1"):
        assert (await ann.get(path)).status == 200
