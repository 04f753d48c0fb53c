"""Each operation of the contract's document, asked for by everybody; and rights that end."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from actors.core.people import ACTIONS, ROLES, rank
from daemon.settings import Settings
from daemon.web.middleware.auth import needed_by
from daemon.web.operations import Operation
from tests.web.answers import document
from tests.web.people import colleague, company, delegate, give, member_id
from tests.web.support import PASSWORD, PATIENCE_S, Answer, House, Person

NEVER = "01900000-0000-7000-8000-000000000000"
NAMES = {"vertical": "line", "tool_id": "tool", "name": "physicians", "delivery_id": "msg_none"}
# They end the session of who asks, or replace the owner: nobody asks who may.
ENDING = {"log_out", "end_other_sessions", "hand_over", "change_password"}
RACERS, AT_ONCE = 400, 40


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Links of notifications begin with the address of the page."""
    return settings.model_copy(update={"public_url": "https://penstock.test"})


def operations() -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """Method, path, id and description of each operation in the document."""
    for path, methods in document()["paths"].items():
        for method, described in methods.items():
            yield method.upper(), path, described["operationId"], described


async def everybody(ann: Person) -> dict[str, Person]:
    """Somebody of each role, one who was removed, and machines."""
    house = ann.house
    found = {role: await colleague(ann, role, role) for role in ROLES if role != "owner"}
    found["owner"] = ann
    found["removed"] = await colleague(ann, "gone", "admin")
    assert (await ann.delete(f"{company(ann)}/members/{await member_id(found['removed'])}")).status == 204
    for kind, role in (("service", "admin"), ("agent", "member")):
        key = await ann.post("/api-keys", {"name": f"the {kind}", "kind": kind, "role": role})
        assert key.status == 201, key.raw
        found[kind] = Person(house, {**ann.session, "token": key.json["key"], "role": role})
    return found


async def state(ann: Person, real: dict[str, str]) -> list[Any]:
    """What is stored of the company, as its owner sees it."""
    there = company(ann)
    paths = (
        "/delegations/",
        "/connectors/",
        "/webhooks/",
        "/notifications/",
        f"{there}/groups/",
        f"{there}/members/",
        f"/process-runs/{real['run_id']}",
    )
    keys = [one["id"] for one in (await ann.get("/api-keys/")).json]
    return [(await ann.get(path)).json for path in paths] + keys


def allowed(who: str, described: dict[str, Any]) -> bool:
    """What the document says of a role or machine."""
    authority = described["x-authority"]
    kind, role = (who, {"service": "admin", "agent": "member"}[who]) if who in {"service", "agent"} else ("person", who)
    return kind in authority["kinds"] and rank(role) >= rank(authority["role"])


async def belongings(ann: Person, bob: Person) -> dict[str, str]:
    """One of each thing that has an id, all of ann's company."""
    hook = await ann.post("/webhooks/", {"url": "http://127.0.0.1:9", "events": ["run_ended"]})
    note = await ann.post("/notifications/", {"kind": "slack", "events": ["run_failed"], "url": "http://127.0.0.1:9"})
    key = await ann.post("/api-keys", {"name": "hers", "kind": "agent", "role": "viewer"})
    session = (await ann.get("/auth/sessions/")).json[0]
    await ann.put("/connectors/tool", {"base_url": "http://127.0.0.1:9", "method": "POST", "path": "/do"})
    await ann.put(f"{company(ann)}/groups/{NAMES['name']}", {"members": []})
    given = await delegate(ann, bob)
    run = await ann.start("line", {"amount": 1})
    ids = {"run_id": run["id"], "session_id": session["id"], "company_id": ann.session["company"]["id"]}
    return {
        **ids,
        "member_id": await member_id(bob),
        "webhook_id": hook.json["id"],
        "notification_id": note.json["id"],
        "key_id": key.json["id"],
        "delegation_id": given.json["id"],
        "tool_id": "tool",
    }


async def ask(person: Person | House, method: str, path: str, own: dict[str, str]) -> Answer:
    """Ask for an operation with a body that no operation takes; what has no id does not exist."""
    names = {**NAMES, **own}
    for part in [part[1:-1] for part in path.split("/") if part.startswith("{")]:
        path = path.replace(f"{{{part}}}", names.get(part, NEVER))
    body = None if method in {"GET", "DELETE"} else {"no such": "field"}
    return await person.send(method, path, body)


async def test_each_operation_answers_each_role_and_machine_as_the_table_says(ann: Person) -> None:
    people, asked, wrong = await everybody(ann), 0, []
    place = {"company_id": ann.session["company"]["id"]}
    for method, path, name, described in operations():
        if described.get("security") == []:
            assert "x-authority" not in described
            continue
        nobody = await ask(ann.house, method, path, place)
        removed = await ask(people["removed"], method, path, place)
        asked += 2
        wrong += [(name, "no token", nobody.status)] if nobody.status != 401 else []
        wrong += [(name, "removed", removed.status)] if removed.status != 401 else []
        for who, person in people.items():
            if who == "removed" or (name in ENDING and allowed(who, described)):
                continue
            answer = await ask(person, method, path, place)
            asked += 1
            refused = answer.status == 403 and answer.json["reason"] in {"role", "machine"}
            if refused is allowed(who, described) or answer.status in {401, 500}:
                wrong.append((name, who, answer.status))
    assert wrong == []
    assert asked > 400


async def test_what_is_of_a_company_is_not_there_for_another_one(ann: Person, eve: Person) -> None:
    real = await belongings(ann, await colleague(ann, "bob", "viewer"))
    before, found = await state(ann, real), {}
    for method, path, name, _ in operations():
        if any(f"{{{one}}}" in path for one in real):
            found[name] = (await ask(eve, method, path, real)).status
    assert {name: status for name, status in found.items() if status not in {404, 422}} == {}
    assert len(found) > 25
    assert await state(ann, real) == before


@pytest.mark.parametrize("action", ["", "no such action"])
def test_a_route_without_an_action_of_the_table_does_not_start(action: str) -> None:
    async def handler(_: Any) -> Any: ...

    if action:
        with pytest.raises(ValueError, match="no action of the table"):
            Operation("Do", action)
    else:
        with pytest.raises(TypeError):
            Operation("Do")  # type: ignore[call-arg]
    assert needed_by(Operation("Do", "read")(handler)) is ACTIONS["read"]


def test_each_action_that_is_in_use_is_in_the_table() -> None:
    used = {described["x-authority"]["action"] for *_, described in operations() if "x-authority" in described}
    assert used <= set(ACTIONS)


@pytest.mark.parametrize("end", ["demote", "remove", "delete the key"])
async def test_of_requests_that_race_with_the_end_of_a_right_none_succeeds_that_began_after_the_answer(
    ann: Person, end: str
) -> None:
    """Requests of many callers at once; the right ends somewhere among them."""
    bob = await colleague(ann, "bob", "member")
    if end == "delete the key":
        key = await ann.post("/api-keys", {"name": "racer", "kind": "service", "role": "member"})
        bob = Person(ann.house, {**bob.session, "token": key.json["key"]})
    loop, ended = asyncio.get_running_loop(), float("inf")
    begun: list[tuple[float, int]] = []
    numbers = iter(range(RACERS))

    async def race() -> None:
        nonlocal ended
        for number in numbers:
            if number == RACERS // 3:
                ended = await _end(ann, bob, end, key.json["id"] if end == "delete the key" else "")
                continue
            began = loop.time()
            answer = await bob.post("/process-runs/", {"vertical": "quick"})
            begun.append((began, answer.status))

    await asyncio.gather(*(race() for _ in range(AT_ONCE)))
    after = [status for began, status in begun if began >= ended]
    assert {status for began, status in begun if began < ended} >= {201}
    assert after
    assert set(after) == {403 if end == "demote" else 401}


async def _end(ann: Person, bob: Person, end: str, key_id: str) -> float:
    """When the end of the right was answered."""
    if end == "demote":
        answer = await give(ann, bob, "viewer")
    elif end == "remove":
        answer = await ann.delete(f"{company(ann)}/members/{bob.session['member_id']}")
    else:
        answer = await ann.delete(f"/api-keys/{key_id}")
    assert answer.status in {200, 204}
    return asyncio.get_running_loop().time()


async def test_a_request_that_waited_for_another_is_judged_by_the_role_of_now(ann: Person) -> None:
    """A repeat under a key waits for the first; meanwhile the role is another."""
    bob = await colleague(ann, "bob", "manager")
    run = await ann.start("line", {"amount": 1})
    body = {"gate": "signoff", "decision": "approved"}
    path = f"/process-runs/{run['id']}/resume"
    first = await bob.post(path, body, Idempotency_Key="k")
    await give(ann, bob, "viewer")
    again = await bob.post(path, body, Idempotency_Key="k")
    assert (first.status, again.status, again.json["reason"]) == (200, 403, "role")
    fresh = await bob.post(path, body, Idempotency_Key="other")
    assert (fresh.status, fresh.json["reason"]) == (403, "role")
    assert (await ann.house.send("POST", "/auth/login", {"email": bob.email, "password": PASSWORD})).status == 200


@pytest.mark.one_daemon
@pytest.mark.parametrize("end", ["demote", "remove"])
async def test_a_verdict_that_waits_in_a_mailbox_is_judged_when_its_turn_comes(
    ann: Person, house: House, end: str
) -> None:
    """The run is held up by another turn, whose commit waits, while a right ends."""
    bob = await colleague(ann, "bob", "manager")
    run = await ann.start("line", {"amount": 1})
    journal, go, held = house.services.directory._context.journal, asyncio.Event(), asyncio.Event()
    append = journal.append

    async def slow(commit: Any) -> Any:
        held.set()
        await go.wait()
        return await append(commit)

    journal.append = slow  # type: ignore[method-assign]
    first = asyncio.create_task(ann.post(f"/process-runs/{run['id']}/resume", {"gate": "other", "decision": "x"}))
    cancel = asyncio.create_task(ann.post(f"/process-runs/{run['id']}/cancel"))
    async with asyncio.timeout(PATIENCE_S):
        await held.wait()
    waiting = asyncio.create_task(bob.resume(run, "signoff"))
    actor = house.services.directory._actor((ann.session["company"]["id"], run["id"]))
    async with asyncio.timeout(PATIENCE_S):
        while not actor._mailbox:  # noqa: ASYNC110 - a mailbox has no event for it
            await asyncio.sleep(0)
    await _end(ann, bob, end, "")
    go.set()
    assert (await cancel).status == 200
    assert (await first).status == 409
    assert (await waiting).status == (403 if end == "demote" else 401)
