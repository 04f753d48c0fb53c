"""What goes out of the house about a closed run: exports, webhooks, notifications; and races."""

from __future__ import annotations

import asyncio
import base64
import os
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from daemon.settings import Settings
from daemon.verification.exports import verify_export
from daemon.verification.findings import Counts
from tests.post_office import PostOffice
from tests.web.closed import KEY, SECRET, Office, office
from tests.web.people import company, member_id
from tests.web.support import FarSide, Person
from tests.web.test_notifications import settled, told
from tests.web.test_webhooks_api import delivered, made

ROUNDS = int(os.environ.get("TESTS_ROUNDS", "200"))


@pytest.fixture
def settings(settings: Settings, post: PostOffice) -> Settings:
    return settings.model_copy(update=post.settings)


@pytest.fixture
def post(office: PostOffice) -> PostOffice:
    return office


async def exported(person: Person) -> tuple[bytes, Counts]:
    """An export that verifies, and what it counts."""
    answer = await person.get("/audit/export")
    assert answer.status == 200
    keys = {name: base64.b64decode(one) for name, one in (await person.get("/audit/keys")).json.items()}
    counts = Counts()
    assert list(verify_export(answer.raw.splitlines(keepends=True), keys, counts=counts)) == []
    return answer.raw, counts


async def test_an_export_verifies_without_the_content_of_what_is_closed_to_who_asked_for_it(ann: Person) -> None:
    found = await office_of(ann)
    run = await found.start("ann")
    await ann.put(f"/process-runs/{run['id']}/hold", {"reason": f"about {SECRET}"})
    await ann.start("line", {"amount": 2})
    whole, all_counts = await exported(ann)
    part, counts = await exported(found["boss"])
    assert SECRET.encode() in whole
    assert SECRET.encode() not in part
    assert KEY.encode() not in part
    assert counts["withheld histories"] == 2  # that of the run, and the company's log, which tells of the hold
    assert "withheld histories" not in all_counts
    assert counts["commits"] == all_counts["commits"]


async def test_an_export_that_says_something_where_it_withholds_does_not_verify(ann: Person) -> None:
    found = await office_of(ann)
    await found.start("ann")
    part, _ = await exported(found["boss"])
    keys = {name: base64.b64decode(one) for name, one in (await ann.get("/audit/keys")).json.items()}
    wrong = part.replace(b'"withheld":true', b'"withheld":false')
    assert "withheld" in {one.kind for one in verify_export(wrong.splitlines(keepends=True), keys)}


async def test_a_webhook_is_told_that_something_happened_in_a_closed_run_and_not_what(
    ann: Person, far: FarSide
) -> None:
    found = await office_of(ann)
    hook = await made(ann, f"{far.url}/in", events=["run_started"])
    run, other = await found.start("ann"), await ann.start("line", {"amount": 2})
    await delivered(ann, hook, 2)
    said = {one.body["data"]["run_id"]: one.body["data"] for one in far.seen}
    assert said[run["id"]]["withheld"] is True
    assert said[run["id"]]["event"].keys() == {"seq", "type", "at"}
    assert "withheld" not in said[other["id"]]
    assert said[other["id"]]["event"]["inputs"] == {"amount": 2}
    assert SECRET not in str(far.seen)


async def test_those_alone_are_told_of_a_closed_run_who_may_read_it(ann: Person, post: PostOffice) -> None:
    found = await office_of(ann)
    terms = {"events": ["gate_opened", "gate_blocked", "glass_broken"]}
    for name in ("boss", "officer", "auditor", "sam"):
        await told(found[name], "email", **terms)
    run = await found.start("ann")
    await found["boss"].post(f"/process-runs/{run['id']}/break-glass", {"reason": "The auditor waits."})
    wanted = {found["officer"].email: 2, found["auditor"].email: 1}
    hooks = [(await found[name].get("/notifications/")).json[0] for name in ("officer", "auditor")]
    await settled(found["officer"], hooks[0], 2)
    await settled(found["auditor"], hooks[1], 1)
    mails = [one for one in post.received if not str(one.message["Subject"]).startswith("Invitation")]
    assert {one: sum(one in mail.recipients for mail in mails) for one in wanted} == wanted
    assert not {found["boss"].email, found["sam"].email} & {one for mail in mails for one in mail.recipients}


# ------------------------------------------------------------------------------------------- races


async def office_of(ann: Person, **template: Any) -> Office:
    return await office(ann, **template)


def looks(person: Person, run: Any) -> list[Callable[[], Coroutine[Any, Any, bytes]]]:
    """Ways to find a run; each answers what was said."""
    paths = (f"/process-runs/{run['id']}", "/process-runs/", "/gates/", "/events/?after=0", "/audit/export")
    return [lambda path=path: _said(person, path) for path in paths]  # type: ignore[misc]


async def _said(person: Person, path: str) -> bytes:
    return (await person.get(path)).raw


async def test_no_read_that_begins_after_a_reader_was_taken_away_sees_anything(ann: Person) -> None:
    found = await office_of(ann, readers={"groups": ["auditors"], "role": "admin"})
    run = await found.start("ann")
    groups = f"{company(ann)}/groups/auditors"
    auditor = await member_id(found["auditor"])

    async def take(who: str) -> None:
        if who == "auditor":
            assert (await ann.put(groups, {"members": []})).status == 200
        else:
            assert (await found.become(who, "member")).status == 200

    async def give_back(who: str) -> None:
        if who == "auditor":
            assert (await ann.put(groups, {"members": [auditor]})).status == 200
        else:
            assert (await found.become(who, "admin")).status == 200

    for number in range(ROUNDS):
        who = ("auditor", "boss")[number % 2]
        ways = looks(found[who], run)
        during = [asyncio.create_task(ways[(number + nth) % len(ways)]()) for nth in range(3)]
        await take(who)
        after = await asyncio.gather(*(ways[(number + nth) % len(ways)]() for nth in range(2)))
        assert all(SECRET.encode() not in one for one in after), (number, after)
        await asyncio.gather(*during)
        await give_back(who)
        assert SECRET.encode() in await ways[0]()
