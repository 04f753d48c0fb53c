"""Servers that go live, or of which more is believed: another person looks, and admins are told."""

from __future__ import annotations

from typing import Any

import pytest

from tests.web.people import company
from tests.web.support import House, Person, assert_problem
from tests.web.test_change_gates import changes, decides, gated
from tests.web.test_makers import office

SERVER: dict[str, Any] = {"url": "http://127.0.0.1:9/mcp", "auth_type": "bearer"}
SECRET = "s3cret-canary"
AT = "/mcp-servers/tools"


async def test_a_server_goes_live_and_is_changed_live_by_two(ann: Person, house: House) -> None:
    bob, cyd = await office(ann)
    await gated(ann)
    asked = await bob.put(AT, {**SERVER, "auth_token": SECRET, "reversible": True})
    assert (asked.status, asked.json["act"], asked.json["what"]) == (202, "go_live", "tools/*"), asked.raw
    assert (await ann.get(AT)).status == 404
    assert SECRET.encode() not in asked.raw + (await ann.get(f"{company(ann)}/changes/")).raw
    await house.restart()
    assert_problem(await decides(bob, asked.json), 403, "forbidden")
    assert (await decides(cyd, asked.json)).status == 200
    stored = (await ann.get(AT)).json
    assert (stored["reversible"], stored["auth_token_set"], stored["updated_by"]) == (True, True, bob.email)
    again = await bob.put(AT, {**SERVER, "reversible": True, "wait_s": 9})
    assert again.status == 202
    same = await bob.put(AT, {**SERVER, "reversible": True})
    assert (same.status, same.json["version"]) == (200, stored["version"])
    assert (await bob.put(AT, SERVER)).status == 200
    assert_problem(await decides(ann, again.json), 412, "changed")


@pytest.mark.parametrize(
    ("before", "after", "status"),
    [
        ({}, {"trust_annotations": True}, 202),
        ({"trust_annotations": True}, {}, 200),
        ({}, {"tools": {"look": {"effect": "read"}}}, 202),
        ({"tools": {"look": {"effect": "read"}}}, {}, 200),
        ({"tools": {"refund": {"tier": "critical"}}}, {"tools": {"refund": {"tier": "high"}}}, 202),
        ({"tools": {"refund": {"tier": "critical"}}}, {}, 202),
        ({"tools": {"refund": {"tier": "high"}}}, {"tools": {"refund": {"tier": "critical"}}}, 200),
        ({}, {"wait_s": 3}, 200),
    ],
)
async def test_what_is_believed_more_of_a_server_waits_and_what_is_believed_less_does_not(
    ann: Person, before: dict[str, Any], after: dict[str, Any], status: int
) -> None:
    bob, _ = await office(ann)
    assert (await bob.put(AT, {"url": SERVER["url"], **before})).status == 201
    await gated(ann, "go_live")
    assert (await bob.put(AT, {"url": SERVER["url"], **after})).status == status
    assert len(await changes(ann)) == (status == 202)
