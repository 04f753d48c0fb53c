"""Who loses a right between a request's check and its write does not write."""

from __future__ import annotations

from typing import Any

import pytest

from tests.web.people import colleague, company, give, member_id
from tests.web.support import Answer, Person, assert_problem
from tests.web.test_second_factors import enrolled

pytestmark = pytest.mark.one_daemon
KEY = {"name": "deploy", "kind": "service", "role": "viewer"}


async def asks(chief: Person, ann: Person, what: str) -> Answer:
    """What an admin asks for."""
    if what.startswith("reset"):
        name = what.split()[1]
        return await chief.delete(f"{company(ann)}/members/{await ids(ann, name)}/second-factor")
    if what == "make a key":
        return await chief.post("/api-keys", KEY)
    if what == "delete a key":
        (one,) = (await ann.get("/api-keys")).json
        return await chief.delete(f"/api-keys/{one['id']}")
    body: dict[str, Any] = {"policy": {"solo": False}, "autonomy": {"auto_resolve": False}, "calendar": CALENDAR}
    return await chief.put(f"{company(ann)}/{what}", body[what])


CALENDAR = {"timezone": "Europe/Madrid", "weekend": ["saturday", "sunday"], "holidays": []}


async def ids(ann: Person, name: str) -> str:
    members = (await ann.get(f"{company(ann)}/members")).json
    return next(str(one["id"]) for one in members if one["email"].startswith(name))


async def stands(ann: Person) -> list[bytes]:
    paths = [f"{company(ann)}/{name}" for name in ("policy", "autonomy", "calendar")]
    return [(await ann.get(path)).raw for path in (*paths, "/api-keys")]


@pytest.mark.parametrize(
    ("what", "write"),
    [
        ("policy", "put_policy"),
        ("autonomy", "put_autonomy"),
        ("calendar", "put_calendar"),
        ("make a key", "add_api_key"),
        ("delete a key", "delete_api_key"),
        ("reset dan", "put_second_factor"),
        ("reset eva", "advance_epoch"),  # who has no second factor, and whose sessions it ends all the same
    ],
)
@pytest.mark.parametrize("removed", [False, True])
async def test_a_right_that_ends_before_the_write_ends_the_write(
    ann: Person, monkeypatch: pytest.MonkeyPatch, what: str, write: str, removed: bool
) -> None:
    chief, dan, eva = [await colleague(ann, *who) for who in (("chief", "admin"), ("dan",), ("eva",))]
    await enrolled(dan)
    if what == "delete a key":
        assert (await ann.post("/api-keys", KEY)).status == 201
    before, store = await stands(ann), ann.house.services.store
    writes = getattr(store, write)

    async def late(*args: Any, **said: Any) -> Any:
        monkeypatch.setattr(store, write, writes)
        if removed:
            assert (await ann.delete(f"{company(ann)}/members/{await member_id(chief)}")).status == 204
        else:
            assert (await give(ann, chief, "member")).status == 200
        return await writes(*args, **said)

    monkeypatch.setattr(store, write, late)
    answer = await asks(chief, ann, what)
    assert_problem(answer, *((401, "not_authenticated") if removed else (409, "conflict")))
    assert await stands(ann) == before
    assert [(await one.get("/auth/me")).status for one in (dan, eva)] == [200, 200]
    assert (await dan.get("/auth/me")).json["second_factor"] is True
