"""Who loses a right between a request's check and its write does not write."""

from __future__ import annotations

from typing import Any

import pytest

from tests.web.people import colleague, company, delegate, give, member_id
from tests.web.support import Answer, Person, assert_problem
from tests.web.test_own_templates import document, publish
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
        ("policy", "put_setting"),
        ("autonomy", "put_setting"),
        ("calendar", "put_setting"),
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


HOOK = {"url": "http://127.0.0.1:9/hook"}
CONNECTOR = {"base_url": "http://127.0.0.1:9", "method": "POST", "path": "/do"}
WRITES = {
    "add_webhook": ("POST", "/webhooks/", HOOK),
    "put_webhook": ("PUT", "/webhooks/{hook}", {**HOOK, "description": "another"}),
    "rotate_webhook": ("POST", "/webhooks/{hook}/secret/rotate", {}),
    "delete_webhook": ("DELETE", "/webhooks/{hook}", None),
    "put_connector": ("PUT", "/connectors/tool", {**CONNECTOR, "path": "/else"}),
    "delete_connector": ("DELETE", "/connectors/tool", None),
    "publish": ("POST", "/process-templates/petty-cash/publish", {}),
    "retire": ("POST", "/process-templates/refund/versions/{version}/retire", {}),
    "put_hold": ("PUT", "/process-runs/{run}/hold", {"reason": "case"}),
    "end_delegation": ("DELETE", "/delegations/{delegation}", None),
}


@pytest.mark.parametrize("write", WRITES)
async def test_what_an_admin_loses_the_right_to_before_it_is_written_is_not_written(
    ann: Person, monkeypatch: pytest.MonkeyPatch, write: str
) -> None:
    chief, bob = await colleague(ann, "chief", "admin"), await colleague(ann, "bob", "manager")
    known = {
        "hook": (await ann.post("/webhooks/", HOOK)).json["id"],
        "version": (await publish(ann, document("Refund our way", vertical="refund")))["version"],
        "run": (await ann.start("line", {"amount": 5}))["id"],
        "delegation": (await delegate(ann, bob)).json["id"],
    }
    assert (await ann.put("/connectors/tool", CONNECTOR)).status == 201
    assert (await ann.put("/process-templates/petty-cash/draft", document())).status == 200
    method, path, body = WRITES[write]
    store = ann.house.services.store
    writes = getattr(store, write)

    async def late(*args: Any, **said: Any) -> Any:
        monkeypatch.setattr(store, write, writes)
        assert (await give(ann, chief, "viewer")).status == 200
        return await writes(*args, **said)

    monkeypatch.setattr(store, write, late)
    assert_problem(await chief.send(method, path.format(**known), body), 409, "conflict")
    assert (await ann.send(method, path.format(**known), body)).status in (200, 201, 204)
