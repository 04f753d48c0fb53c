"""Servers of agents over HTTP: an admin keeps them, and their secrets are never shown."""

from __future__ import annotations

from typing import Any

import pytest

from tests.web.people import colleague
from tests.web.support import House, Person, assert_invalid, assert_problem
from tests.web.test_api_keys import machine, made

URL = "http://127.0.0.1:9/mcp"
SECRET = "a secret of the server"


async def put(ann: Person, name: str = "stripe", **how: Any) -> Any:
    answer = await ann.put(f"/mcp-servers/{name}", {"url": URL, **how})
    assert answer.status in {200, 201}, answer.raw
    return answer.json


async def test_a_server_is_kept_without_its_secret(ann: Person, house: House) -> None:
    stored = await put(ann, auth_type="bearer", auth_token=SECRET, tools={"list": {"effect": "read"}})
    assert {name: stored[name] for name in ("name", "version", "auth_token_set", "reversible", "wait_s")} == {
        "name": "stripe",
        "version": 1,
        "auth_token_set": True,
        "reversible": False,
        "wait_s": 50,
    }
    await house.restart()
    read = await ann.get("/mcp-servers/stripe")
    assert read.json == stored
    assert (await ann.get("/mcp-servers/")).json == [stored]
    assert SECRET.encode() not in read.raw
    servers = house.services.connector_service.servers
    one = await servers.one(ann.session["company"]["id"], "stripe")
    assert one is not None
    assert await servers.secret(one) == SECRET


async def test_the_secret_stays_while_the_origin_does_and_changes_are_in_the_log(ann: Person, house: House) -> None:
    bearer = {"auth_type": "bearer"}
    await put(ann)
    await put(ann, **bearer, auth_token=SECRET)
    assert (await put(ann, **bearer))["version"] == 2
    await put(ann, **bearer, auth_token="another", reversible=True)
    refused = await ann.put("/mcp-servers/stripe", {"url": "http://other.test/mcp", **bearer})
    assert refused.status == 200
    assert refused.json["auth_token_set"] is False
    assert (await ann.delete("/mcp-servers/stripe")).status == 204
    assert_problem(await ann.delete("/mcp-servers/stripe"), 404, "not_found")
    answer = await ann.get("/mcp-servers/stripe/changes")
    assert [(one["number"], one["version"], one["secret"]) for one in answer.json] == [
        (5, 4, "none"),
        (4, 4, "removed"),
        (3, 3, "changed"),
        (2, 2, "set"),
        (1, 1, "none"),
    ]
    assert answer.json[0]["after"] is None
    assert answer.json[0]["before"]["url"] == "http://other.test/mcp"
    assert SECRET.encode() not in answer.raw
    logged = (await ann.get("/audit/log")).json
    found = [one["event"] for one in logged if one["event"]["type"] == "mcp_server_changed"]
    assert sorted(one["number"] for one in found) == [1, 2, 3, 4, 5]
    assert (await put(ann))["version"] == 5


@pytest.mark.parametrize(
    ("how", "pointer"),
    [
        ({"url": "nowhere"}, "/url"),
        ({"url": "http://user:pass@host.test/mcp"}, "/url"),
        ({"auth_token": "t"}, "/auth_token"),
        ({"auth_type": "bearer"}, "/auth_token"),
        ({"auth_type": "oauth2"}, "/auth_type"),
        ({"wait_s": 601}, "/wait_s"),
        ({"tools": {"t": {"effect": "maybe"}}}, "/tools/t/effect"),
        ({"more": 1}, "/more"),
    ],
)
async def test_what_is_wrong_is_said_by_its_pointer(ann: Person, how: dict[str, Any], pointer: str) -> None:
    assert_invalid(await ann.put("/mcp-servers/stripe", {"url": URL, **how}), pointer)


async def test_only_an_admin_keeps_servers_and_no_agent_does(ann: Person, eve: Person, house: House) -> None:
    await put(ann)
    manager = await colleague(ann, "max", "manager")
    agent = machine(house, await made(ann))
    for somebody in (manager, agent):
        assert (await somebody.get("/mcp-servers/stripe")).status == 200
        assert_problem(await somebody.put("/mcp-servers/stripe", {"url": URL}), 403, "forbidden")
        assert_problem(await somebody.delete("/mcp-servers/stripe"), 403, "forbidden")
    assert_problem(await eve.get("/mcp-servers/stripe"), 404, "not_found")
    assert_problem(await eve.get("/mcp-servers/stripe/changes"), 404, "not_found")
