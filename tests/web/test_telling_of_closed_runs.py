"""What goes out of the house about a closed run: exports, webhooks, notifications; and races."""

from __future__ import annotations

import asyncio
import base64
import os
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest

from daemon.settings import Settings
from daemon.verification.exports import verify_export
from daemon.verification.findings import Counts
from daemon.web.resources.pages import LISTS_IN_TURN, REPORTS_IN_TURN
from tests.post_office import PostOffice
from tests.web.closed import KEY, SECRET, Office, office
from tests.web.people import company, member_id
from tests.web.support import PATIENCE_S, FarSide, Person
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


async def test_an_export_for_who_is_no_admin_does_not_name_what_is_closed(ann: Person) -> None:
    found = await office_of(ann)
    run = await found.start("ann")
    await ann.put(f"/process-runs/{run['id']}/hold", {"reason": f"about {SECRET}"})
    part, counts = await exported(found["viewer"])
    whole, all_counts = await exported(found["boss"])
    assert run["id"].encode() in whole
    assert run["id"].encode() not in part
    assert (counts["withheld commits"] > 0, counts["commits"]) == (True, all_counts["commits"])
    keys = {name: base64.b64decode(one) for name, one in (await ann.get("/audit/keys")).json.items()}
    lines = part.splitlines(keepends=True)
    gone = next(place for place, line in enumerate(lines) if b'"leaf"' in line)
    assert {one.kind for one in verify_export(lines[:gone] + lines[gone + 1 :], keys)} >= {"order"}
    forged = lines[gone].replace(b"sha256:", b"sha256:0")[:-1]
    assert list(verify_export([*lines[:gone], forged, *lines[gone + 1 :]], keys))


async def test_an_entry_of_the_log_that_is_withheld_names_nobody_as_its_author(ann: Person) -> None:
    found = await office_of(ann)
    run = await found.start("ann")
    await ann.put(f"/process-runs/{run['id']}/hold", {"reason": f"about {SECRET}"})
    [whole], [left] = [(await one.get("/audit/log?limit=1")).json for one in (ann, found["boss"])]
    assert (left["hash"], left["event"]["withheld"]) == (whole["hash"], "hold_changed")
    assert [(one["by"], one["by_kind"]) for one in (whole, left)] == [(ann.email, "person"), (None, None)]


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


async def test_deliveries_name_no_closed_run_but_to_who_manages_webhooks(ann: Person, far: FarSide) -> None:
    found = await office_of(ann)
    hook = await made(ann, f"{far.url}/in", events=["run_started"])
    run, other = await found.start("ann"), await ann.start("line", {"amount": 2})
    await delivered(ann, hook, 2)
    narrow = await found.key("narrow", "service", "admin", scopes={"read": ["line"]})
    people = {**{name: found[name] for name in ("viewer", "sam", "auditor", "boss")}, "narrow": narrow}
    path = f"/webhooks/{hook['id']}/deliveries"
    named = {name: [one["run_id"] for one in (await person.get(path)).json] for name, person in people.items()}
    both = [other["id"], run["id"]]
    assert named == {"viewer": both[:1], "sam": both[:1], "narrow": both[:1], "auditor": both, "boss": both}


async def test_the_channel_of_a_group_is_told_of_a_closed_run_where_who_set_it_up_reads_it(
    ann: Person, far: FarSide
) -> None:
    found = await office_of(ann)
    await found.group("officers", "officer")
    about: Any = {"group": "officers", "events": ["gate_opened"]}
    await told(found["boss"], "webhook", url=f"{far.url}/boss", **about)
    hook = await told(ann, "webhook", url=f"{far.url}/ann", **about)
    run = await found.start("ann")
    [one] = await settled(ann, hook)
    assert (one["run_id"], {each.target for each in far.seen}) == (run["id"], {"/ann"})
    assert (await found["boss"].get(f"/notifications/{hook['id']}/deliveries")).json == []


async def test_whom_a_run_was_about_is_told_nothing_of_it_once_their_address_is_redacted(
    ann: Person, far: FarSide
) -> None:
    found = await office_of(ann)
    hooks = [
        await told(found[name], "webhook", url=f"{far.url}/{name}", events=["glass_broken"])
        for name in ("sam", "officer")
    ]
    run = await found.start()
    path, gone = f"/process-runs/{run['id']}", {"pointers": ["/inputs/about"], "reason": "They asked."}
    assert (await found["officer"].resume(run, "signoff")).status == 200
    assert (await ann.post(f"{path}/redact", gone)).status == 200
    assert (await found["boss"].post(f"{path}/break-glass", {"reason": "The auditor waits."})).status == 201
    await settled(found["officer"], hooks[1])
    assert {one.target for one in far.seen} == {"/officer"}


# ------------------------------------------------------------------------------------------- races


async def office_of(ann: Person, **template: Any) -> Office:
    return await office(ann, **template)


def looks(person: Person, run: Any) -> list[Callable[[], Coroutine[Any, Any, bytes]]]:
    """Ways to find a run; each answers what was said."""
    paths = (f"/process-runs/{run['id']}", "/process-runs/", "/gates/", "/events/?after=0", "/audit/export")
    return [lambda path=path: _said(person, path) for path in paths]  # type: ignore[misc]


async def _said(person: Person, path: str) -> bytes:
    return (await person.get(path)).raw


WAITING = ("/process-runs/", "/gates/", "/events/?after=0", "/audit/log", "/process-runs/{}/events",
           "/process-runs/{}/audit", "/reports/open-gates/", "/reports/decisions/", "/reports/gates/")  # fmt: skip


@pytest.mark.one_daemon
@pytest.mark.parametrize("path", WAITING)
async def test_a_list_that_has_waited_for_its_turn_shows_what_may_be_read_by_then(
    ann: Person, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = await office_of(ann)
    run, app = await found.start("ann"), ann.house.client.app
    assert app is not None
    turns = app[REPORTS_IN_TURN if path.startswith("/reports/") else LISTS_IN_TURN]
    waits, goes_on, hold = asyncio.Event(), asyncio.Event(), turns.hold

    @asynccontextmanager
    async def held(company_id: str) -> AsyncIterator[bool]:
        waits.set()
        await goes_on.wait()
        async with hold(company_id) as waited:
            yield waited

    monkeypatch.setattr(turns, "hold", held)
    async with asyncio.timeout(PATIENCE_S):
        asked = asyncio.create_task(found["auditor"].get(path.format(run["id"])))
        await waits.wait()
        await found.group("auditors")
        goes_on.set()
        answer = await asked
    assert run["id"] not in answer.raw.decode().replace(path.format(run["id"]), "")


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
