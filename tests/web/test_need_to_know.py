"""Need to know: who reads the runs of a template that names readers, and who finds none."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import Any

import pytest

from daemon.runtime.clock import utc_now
from tests.web.closed import KEY, SECRET, STEPS, SUBJECT, Office, document, office
from tests.web.people import company, delegate
from tests.web.support import PATIENCE_S, CompanyStream, FarSide, Person, assert_invalid, assert_problem
from tests.web.test_makers import key_of
from tests.web.test_own_templates import publish

LOOK, SIGNOFF, *ENDS = STEPS
GATE_FIRST = [{**SIGNOFF, "next": {"approved": "look", "denied": "dropped"}}, {**LOOK, "next": "filed"}, *ENDS]
READ = {"ann", "officer", "auditor"}
CLOSED = {"boss", "manager", "member", "viewer", "sam"}


async def readers(found: Office, run: Any) -> set[str]:
    """Who may read a run, each asked alone."""
    statuses = {name: (await one.get(f"/process-runs/{run['id']}")).status for name, one in found.people.items()}
    assert set(statuses.values()) <= {200, 404}
    return {name for name, status in statuses.items() if status == 200}


async def listed(person: Person, path: str = "/process-runs/") -> list[str]:
    return [one.get("run_id") or one["id"] for one in (await person.get(path)).json]


async def test_who_is_named_and_who_may_decide_read_a_run_and_nobody_else(ann: Person) -> None:
    found = await office(ann)
    run = await found.start()
    assert await readers(found, run) == READ
    hidden = await found["viewer"].get(f"/process-runs/{run['id']}")
    unknown = await found["viewer"].get("/process-runs/01900000-0000-7000-8000-000000000000")
    assert {**hidden.json, "request_id": ""} == {**unknown.json, "request_id": ""}


async def test_who_starts_a_run_that_is_closed_to_them_is_told_that_it_began_and_nothing_else(ann: Person) -> None:
    found = await office(ann)
    body = {"vertical": "suspicion", "inputs": {"story": SECRET}, "business_key": KEY}
    began = await found["member"].post("/process-runs/", body, Idempotency_Key="k")
    again = await found["member"].post("/process-runs/", body, Idempotency_Key="k")
    assert began.headers["Location"] == again.headers["Location"] == f"/process-runs/{began.json['id']}"
    for one in (began, again):
        assert (one.json["inputs"], one.json["facts"], one.json["trace"], one.json["gate"]) == ({}, {}, [], None)
    assert (await found["member"].get(began.headers["Location"])).status == 404
    assert (await found["officer"].get(began.headers["Location"])).json["parked_at"] == "signoff"


async def test_a_shipped_process_closes_its_first_run_and_is_not_loaded_for_a_list_before(ann: Person) -> None:
    found, catalog = await office(ann), ann.house.services.catalog

    async def loaded() -> set[str]:
        entries = await catalog.entries(ann.session["company"]["id"])
        return {one.header.vertical for one in entries if one.header.guarded is True and one.is_loaded}

    before = await loaded()
    assert await listed(found["viewer"]) == []
    assert await loaded() == before
    entry = await catalog.current(ann.session["company"]["id"], "background-check")
    assert entry is not None
    run = (await ann.post("/process-runs/", {"vertical": "background-check", "inputs": entry.example})).json
    assert await listed(ann) == [run["id"]]
    assert await listed(found["viewer"]) == []
    assert await loaded() == before | {"background-check"}


async def test_lists_the_inbox_counts_and_searches_leave_a_closed_run_out(ann: Person) -> None:
    found = await office(ann)
    run = await found.start()
    for name in sorted(CLOSED):
        assert await listed(found[name]) == await listed(found[name], "/gates/") == [], name
        assert await listed(found[name], f"/process-runs/?q={SECRET}") == []
        assert await listed(found[name], f"/process-runs/?business_key={KEY}") == []
        assert (await found[name].get("/gates/count")).json == {"open": 0, "mine": 0}
        assert await listed(found[name], "/events/?after=0") == []
    for name in sorted(READ):
        assert await listed(found[name]) == await listed(found[name], "/gates/") == [run["id"]], name
        assert await listed(found[name], f"/process-runs/?q={SECRET}") == [run["id"]]
        assert (await found[name].get("/gates/count")).json["open"] == 1
        assert set(await listed(found[name], "/events/?after=0")) == {run["id"]}


async def test_a_starter_reads_where_the_template_says_so_by_a_key_of_theirs_too(ann: Person) -> None:
    found = await office(ann, readers={"role": "owner", "starter": True})
    run = await found.start("member")
    assert run["inputs"]["story"] == SECRET
    assert await readers(found, run) == {"ann", "officer", "member"}
    assert await listed(found["member"]) == [run["id"]]
    key = await found.key("robot", "service", "member")
    other = (await key.post("/process-runs/", {"vertical": "suspicion", "inputs": {}})).json
    assert (await key.get(f"/process-runs/{other['id']}")).status == 200
    assert await listed(key) == [other["id"]]
    assert await listed(found["member"]) == [run["id"]]


async def test_a_key_of_another_maker_reads_nothing_that_one_of_its_name_has_started(ann: Person) -> None:
    found = await office(ann, readers={"starter": True}, subjects=[])
    first = await found.key("core", "service", "member")
    run = (await first.post("/process-runs/", {"vertical": "suspicion", "inputs": {}})).json
    [listed_key] = (await ann.get("/api-keys/")).json
    assert (await found["boss"].delete(f"/api-keys/{listed_key['id']}")).status == 204
    for maker, reads in ((found["boss"], False), (ann, True)):
        key = await key_of(maker, name="core")
        assert (await key.get(f"/process-runs/{run['id']}")).status == (200 if reads else 404)
        assert await listed(key) == ([run["id"]] if reads else [])
        [*_, made] = [one for one in (await ann.get("/api-keys/")).json if one["name"] == "core"]
        assert (await ann.delete(f"/api-keys/{made['id']}")).status == 204


async def test_an_agent_whose_key_another_key_has_made_reads_nothing_about_the_maker_of_both(ann: Person) -> None:
    found = await office(ann, readers=None)
    run = await found.start(about=found["boss"].email)
    provisioner = await key_of(found["boss"])
    made = await provisioner.post("/aap/v1/instances", {"instance_name": "bot"}, Idempotency_Key="k")
    instance = Person(ann.house, {**ann.session, "token": made.json["credential"]["token"]})
    assert (await instance.get(f"/process-runs/{run['id']}")).status == 404
    assert await listed(instance) == []


async def test_who_reads_no_more_when_a_wait_ends_is_told_nothing_of_how_the_run_went_on(
    ann: Person, far: FarSide
) -> None:
    found = await office(ann, steps=GATE_FIRST)
    await ann.connect("lookup", far.url)
    run, verdict = await found.start(), {"gate": "signoff", "decision": "approved"}
    far.open.clear()
    waits = found["officer"].post(f"/process-runs/{run['id']}/resume", verdict, Prefer="wait=10", Idempotency_Key="v")
    async with asyncio.timeout(PATIENCE_S):
        answering = asyncio.create_task(waits)
        await far.arrived.wait()
        await found.group("officers", "sam")
        far.open.set()
        answer = await answering
    assert (answer.status, answer.json["inputs"], answer.json["outcome"]) == (200, {}, None)
    assert SECRET not in answer.raw.decode()


async def test_whom_a_run_is_about_neither_reads_nor_decides_whatever_else_they_are(ann: Person) -> None:
    found = await office(ann)
    mine, other = await found.start(about="SAM@sam.test"), await found.start(about=None)
    assert await readers(found, mine) == READ
    assert await readers(found, other) == {*READ, "sam"}
    assert await listed(found["sam"], "/gates/") == [other["id"]]
    refused = await found["sam"].resume(mine, "signoff")
    assert_problem(refused, 404, "not_found")
    assert (await found["sam"].resume(other, "signoff")).status == 200
    assert (await found["officer"].resume(mine, "signoff")).status == 200
    owned = await found.start(about=found.ann.email)
    assert "ann" not in await readers(found, owned)


async def test_a_delegate_reads_what_the_giver_may_decide_but_for_runs_about_either(ann: Person) -> None:
    found = await office(ann)
    mine, other = await found.start(about=SUBJECT), await found.start(about=None)
    assert (await delegate(found["sam"], found["viewer"])).status == 201
    assert await listed(found["viewer"]) == [other["id"]]
    assert (await found["viewer"].get(f"/process-runs/{mine['id']}")).status == 404


async def test_whom_a_run_is_about_keeps_nobody_from_it_by_letting_them_decide_elsewhere(ann: Person) -> None:
    found = await office(ann)
    await found.group("leavers", "sam")
    steps = [LOOK, {**SIGNOFF, "groups": ["leavers"]}, *ENDS]
    await publish(ann, document(vertical="leave", title="Leave", steps=steps))
    run, inputs = await found.start(), {"story": SECRET, "about": SUBJECT}
    leave = (await ann.post("/process-runs/", {"vertical": "leave", "inputs": inputs})).json
    assert (await delegate(found["sam"], found["officer"])).status == 201
    assert await listed(found["officer"]) == await listed(found["officer"], "/gates/") == [run["id"]]
    assert (await found["officer"].get(f"/process-runs/{leave['id']}")).status == 404
    assert (await found["officer"].resume(run, "signoff")).status == 200


async def test_an_unbound_function_is_read_by_its_role(ann: Person) -> None:
    functions = {"chief": {"label": "Chief", "role": "admin"}}
    found = await office(ann, functions=functions, readers={"functions": ["chief"]})
    run = await found.start()
    assert await readers(found, run) == {"ann", "boss", "officer"}


async def test_a_company_narrows_a_vertical_and_widens_it_again(ann: Person) -> None:
    found = await office(ann, readers=None, subjects=[])
    run = await found.start("member")
    assert len(await readers(found, run)) == len(found.people)
    narrow = {"readers": {"suspicion": {"groups": ["auditors"], "starter": True}}}
    answer = await ann.put(f"{company(ann)}/policy", narrow)
    shown = {"functions": [], "groups": ["auditors"], "role": None, "starter": True}
    assert answer.json["readers"] == {"suspicion": shown}
    assert await readers(found, run) == {"officer", "sam", "auditor", "member"}
    later = await found.start("member")
    assert await listed(found["member"]) == [later["id"]]
    assert await listed(found["viewer"]) == await listed(found["viewer"], "/events/?after=0") == []
    assert (await ann.put(f"{company(ann)}/policy", {"readers": {}})).json["readers"] == {}
    assert len(await listed(found["viewer"])) == 2


async def test_a_starter_still_finds_a_run_of_a_narrowed_vertical_once_its_glass_was_broken(ann: Person) -> None:
    found = await office(ann, readers=None, subjects=[])
    await ann.put(f"{company(ann)}/policy", {"readers": {"suspicion": {"groups": ["auditors"], "starter": True}}})
    run = await found.start("member")
    broken = await found["boss"].post(f"/process-runs/{run['id']}/break-glass", {"reason": "The auditor waits."})
    assert broken.status == 201
    assert await listed(found["member"]) == await listed(found["boss"]) == [run["id"]]


async def test_a_command_to_a_run_that_is_closed_is_answered_as_one_to_a_run_that_is_not_there(ann: Person) -> None:
    found, nobody = await office(ann), "01900000-0000-7000-8000-000000000000"
    run = await found.start()
    for path, body in (("resume", {"gate": "signoff", "decision": "approved"}), ("cancel", {"reason": "No."})):
        for who in ("manager", "boss"):
            closed, gone = [await found[who].post(f"/process-runs/{one}/{path}", body) for one in (run["id"], nobody)]
            assert {**closed.json, "request_id": ""} == {**gone.json, "request_id": ""}
            assert (closed.status, closed.headers.keys()) == (404, gone.headers.keys())
    assert (await found["auditor"].get(f"/process-runs/{run['id']}")).json["parked_at"] == "signoff"


async def test_a_policy_names_verticals_that_there_are(ann: Person) -> None:
    assert_invalid(await ann.put(f"{company(ann)}/policy", {"readers": {"nothing": {}}}), "/readers/nothing")


async def test_a_version_that_names_readers_closes_its_own_runs_and_not_those_before(ann: Person) -> None:
    found = await office(ann, readers=None, subjects=[])
    before = await found.start(unique=False)
    await publish(ann, {**(await ann.get("/process-templates/suspicion/versions/1")).json["document"],
                        "readers": {"role": "owner"}})  # fmt: skip
    after = await found.start("ann")
    assert await listed(found["viewer"]) == [before["id"]]
    moved = await ann.post(f"/process-runs/{before['id']}/migrate", {"version": 2})
    assert moved.status == 200, moved.raw
    assert await listed(found["viewer"]) == []
    assert set(await listed(found["officer"])) == {before["id"], after["id"]}


async def test_a_taken_business_key_names_no_run_that_is_closed_to_the_caller(ann: Person) -> None:
    found = await office(ann)
    run = await found.start("ann", unique=True)
    body = {"vertical": "suspicion", "inputs": {}, "business_key": KEY, "unique": True}
    refused = await found["member"].post("/process-runs/", body)
    assert_problem(refused, 409, "already_exists")
    assert "run_id" not in refused.json
    assert (await found["auditor"].get(f"/process-runs/{run['id']}")).status == 200
    named = await ann.post("/process-runs/", body)
    assert named.json["run_id"] == run["id"]


async def test_a_repeat_by_whom_a_run_is_closed_to_by_now_shows_nothing_of_it(ann: Person) -> None:
    found = await office(ann)
    run = await found.start()
    said = {"gate": "signoff", "decision": "approved"}
    path = f"/process-runs/{run['id']}/resume"
    assert (await found["officer"].post(path, said, Idempotency_Key="v")).status == 200
    await found.group("officers", "sam")
    assert_problem(await found["officer"].post(path, said, Idempotency_Key="v"), 404, "not_found")


@pytest.mark.parametrize(
    ("wrong", "detail"),
    [
        ({"readers": {"functions": ["nobody"]}}, "Readers/functions"),
        ({"readers": {"role": "king"}}, "Readers/role"),
        ({"subjects": ["facts.look.name"]}, "Subjects"),
    ],
)
async def test_readers_that_nobody_can_be_are_refused(ann: Person, wrong: dict[str, Any], detail: str) -> None:
    await ann.put("/process-templates/suspicion/draft", document(**wrong))
    [one] = (await ann.post("/process-templates/suspicion/publish")).json["violations"]
    assert one["rule"] == "readers_refused"
    assert one["detail"].startswith(detail)


# ---------------------------------------------------------------------------------- breaking glass


async def test_an_admin_breaks_the_glass_reads_for_an_hour_and_every_reader_is_told(ann: Person) -> None:
    found = await office(ann)
    run, other = await found.start(), await found.start()
    path = f"/process-runs/{run['id']}/break-glass"
    assert_problem(await found["manager"].post(path, {"reason": "why not"}), 403, "forbidden")
    assert_invalid(await found["boss"].post(path, {"reason": " "}), "/reason")
    broken = await found["boss"].post(path, {"reason": "The auditor waits."}, Idempotency_Key="g")
    assert broken.status == 201
    until = datetime.fromisoformat(broken.json["until"])
    assert timedelta(minutes=59) < until - utc_now() <= timedelta(hours=1)
    assert (await found["boss"].post(path, {"reason": "The auditor waits."}, Idempotency_Key="g")).json == broken.json
    assert await readers(found, run) == {*READ, "boss"}
    assert await readers(found, other) == READ
    assert await listed(found["boss"]) == await listed(found["boss"], "/gates/") == [run["id"]]
    events = (await found["auditor"].get(f"/process-runs/{run['id']}/events")).json
    assert (events[-1]["type"], events[-1]["by"], events[-1]["reason"]) == (
        "glass_broken", found["boss"].email, "The auditor waits.")  # fmt: skip


async def test_a_broken_glass_is_worth_nothing_to_who_is_no_admin_any_more(ann: Person) -> None:
    found = await office(ann)
    run = await found.start()
    await found["boss"].post(f"/process-runs/{run['id']}/break-glass", {"reason": "The auditor waits."})
    assert (await found.become("boss", "member")).status == 200
    assert await readers(found, run) == READ
    assert await listed(found["boss"]) == []


async def test_nobody_breaks_the_glass_of_a_run_about_themselves(ann: Person) -> None:
    found = await office(ann)
    run = await found.start(about=found["boss"].email)
    refused = await found["boss"].post(f"/process-runs/{run['id']}/break-glass", {"reason": "I am curious."})
    assert_problem(refused, 404, "not_found")
    assert await readers(found, run) == {*READ, "sam"}


async def test_the_glass_of_a_run_that_has_ended_is_mended_in_time(
    ann: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = await office(ann)
    run = await found.start()
    assert (await found["officer"].resume(run, "signoff")).status == 200
    monkeypatch.setattr("actors.core.commands.glass.BROKEN", timedelta(milliseconds=1))
    path = f"/process-runs/{run['id']}"
    async with asyncio.timeout(PATIENCE_S), CompanyStream(ann, "") as stream:
        await found["boss"].post(f"{path}/break-glass", {"reason": "The auditor waits."})
        while (told := await anext(stream))["event"] != "glass_mended":
            pass
    assert told["data"]["event"]["reader"] == found["boss"].email
    assert await readers(found, run) == READ


async def test_who_broke_glass_is_told_when_its_hour_is_over_and_nothing_of_the_run(
    ann: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = await office(ann)
    run = await found.start()
    monkeypatch.setattr("actors.core.commands.glass.BROKEN", timedelta(milliseconds=300))
    async with asyncio.timeout(PATIENCE_S), CompanyStream(found["boss"], "") as stream:
        await found["boss"].post(f"/process-runs/{run['id']}/break-glass", {"reason": "The auditor waits."})
        told = [await anext(stream)]
        while told[-1]["event"] != "people_changed":
            told.append(await anext(stream))
    assert {one["event"] for one in told} <= {"glass_broken", "people_changed"}
    assert await readers(found, run) == READ


async def test_whom_a_run_was_about_finds_nothing_of_it_once_their_address_is_redacted(ann: Person) -> None:
    found = await office(ann)
    run = await found.start()
    assert (await found["officer"].resume(run, "signoff")).status == 200
    gone = {"pointers": ["/inputs/about"], "reason": "They asked."}
    redacted = await ann.post(f"/process-runs/{run['id']}/redact", gone)
    assert redacted.status == 200, redacted.raw
    assert await readers(found, run) == READ
    assert await listed(found["sam"]) == []
    assert await listed(found["officer"]) == [run["id"]]


async def test_whom_a_run_was_about_finds_nothing_of_it_when_its_glass_is_broken_after_a_redaction(ann: Person) -> None:
    found = await office(ann)
    run = await found.start()
    path = f"/process-runs/{run['id']}"
    assert (await found["officer"].resume(run, "signoff")).status == 200
    gone = {"pointers": ["/inputs/about"], "reason": "They asked."}
    assert (await ann.post(f"{path}/redact", gone)).status == 200
    assert (await found["boss"].post(f"{path}/break-glass", {"reason": "The auditor waits."})).status == 201
    assert await readers(found, run) == {*READ, "boss"}
    assert await listed(found["sam"]) == []


async def test_who_started_a_run_of_a_narrowed_vertical_finds_it_after_its_glass_is_broken(ann: Person) -> None:
    found = await office(ann, readers=None, subjects=[])
    narrow = {"readers": {"suspicion": {"groups": ["auditors"], "starter": True}}}
    await ann.put(f"{company(ann)}/policy", narrow)
    run = await found.start("member")
    path = f"/process-runs/{run['id']}/break-glass"
    assert (await found["boss"].post(path, {"reason": "The auditor waits."})).status == 201
    assert "member" in await readers(found, run)
    assert await listed(found["member"]) == [run["id"]]
