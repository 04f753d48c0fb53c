"""The list of all that the service answers: what each says of a run, tried by all kinds of callers.

An operation without a decision fails here. Each is asked by everybody whom a run is closed to, and
nothing that is planted in the run may stand anywhere in what it answers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

from daemon.web.operations import Endpoint
from daemon.web.routes import AAP_ROUTES, ROUTES
from tests.web.closed import KEY, SECRET, STEPS, SUBJECT, Office, office
from tests.web.people import company
from tests.web.support import PATIENCE_S, CompanyStream, EventStream, FarSide, Person


def names(text: str) -> list[str]:
    return text.split()


ONE_RUN = names(
    """
    get_run resume_run propose_decision get_gate preview_gate claim_gate release_gate withdraw_verdict
    deliver_message cancel_run retry_run migrate_run promote_run list_run_events get_run_audit hold_run
    release_run redact_run get_archive get_verdict_receipt break_glass get_action cancel_action ask_agent
    answer_question propose_action_rule
    """
)
"""Of one run: 404 in the words of one that is not there."""
LISTS = names(
    """
    list_runs list_gates count_gates list_events list_reported_decisions list_reported_clearings
    list_reported_failures list_reported_gates list_reported_promotions get_calibration get_report
    list_agent_log list_report_days list_report_gates list_report_people list_report_clocks list_report_steps
    list_report_connectors give_verdicts start_run publish_template request_action list_actions
    """
)
"""Of several runs: those are left out, from counts and from errors too."""
COMPANY_WIDE = ["export_audit", "list_audit_log", "list_deliveries", "redeliver"]
"""Of the company: without content, with hashes."""
OWN = names(
    """
    create_notification list_notifications get_notification put_notification delete_notification test_notification
    rotate_notification list_notification_deliveries redeliver_notification list_views put_view delete_view
    """
)
"""What people set for themselves; they are told of runs that they may read, and of no other."""
APPROVALS = names(
    """
    create_approval_request get_approval_request cancel_approval_request consume_approval report_outcome
    create_instance get_instance change_instance delete_instance
    """
)
"""Of what an agent asked for itself, and of agents: 404 for all others."""
ANYBODY = ["answer_call"]
"""Whose address is a signed secret for one call; the answer is empty."""
NOTHING = names(
    """
    register log_in log_out get_account rename_account change_password begin_second_factor remove_second_factor
    confirm_second_factor get_auth_options forgot_password reset_password swap_code refresh_session
    list_sessions end_other_sessions end_session create_api_key list_api_keys put_api_key delete_api_key
    create_delegation list_delegations end_delegation switch_company look_at_invitation accept_invitation list_members
    invite_member change_member remove_member hand_over list_groups put_group delete_group list_templates
    validate_template try_template import_bpmn draft_from_text get_template get_canvas list_judges get_bpmn
    get_draft put_draft delete_draft list_versions get_version retire_version list_drafts list_checkpoints
    get_audit_keys list_connectors get_connector put_connector delete_connector list_connector_changes
    test_connector create_webhook list_webhooks get_webhook put_webhook delete_webhook test_webhook
    rotate_webhook get_policy put_policy get_autonomy put_autonomy get_calendar put_calendar get_functions
    list_mcp_servers get_mcp_server put_mcp_server delete_mcp_server list_mcp_server_changes
    get_action_rules put_action_rules try_action_rules put_action_pause delete_action_pause
    put_functions list_changes approve_change deny_change list_rules list_holidays reset_second_factor get_health
    """
)
"""They read no run."""
DECISIONS = (ONE_RUN, LISTS, COMPANY_WIDE, OWN, APPROVALS, ANYBODY, NOTHING)
GLASS = "break_glass"
"""Opens the run to an admin, and so is tried by itself."""
BODIES: dict[str, Any] = {
    "resume_run": {"gate": "signoff", "decision": "approved"},
    "propose_decision": {"gate": "signoff", "decision": "approved"},
    "deliver_message": {"name": "letter"},
    "ask_agent": {"to": "agent", "text": "Why?"},
    "answer_question": {"text": "So."},
    "migrate_run": {"version": 1},
    "hold_run": {"reason": "The court asks."},
    "redact_run": {"pointers": ["/inputs/story"], "reason": "They asked.", "preview": True},
    "start_run": {"vertical": "suspicion", "inputs": {}, "business_key": KEY, "unique": True},
}
JUDGES = [{"id": "sure", "label": "Sure", "steps": ["look"], "rule": "true", "confidence": 0.6}]
LOOK, *REST = STEPS
JUDGED = [{**LOOK, "tier": "medium", "effect": "reversible"}, *REST]
"""People decide whether it is looked up: the judge is not sure enough."""
LISTED = ("", "limit=1", f"q={SECRET}", "format=csv")
NARROWED = {
    "list_runs": (
        f"business_key={KEY}",
        "parked_at=signoff",
        "vertical=suspicion",
        "view=row",
        "created_by=ann@ann.test",
    ),
    "list_gates": ("mine=true", "view=row", "vertical=suspicion", "order=newest"),
    "count_gates": ("vertical=suspicion", f"q={SECRET}"),
    "list_events": ("after=0", "type=run_started", f"q={SECRET}&limit=1", "by=boss@boss.test"),
    "list_audit_log": ("type=hold_changed", "by=ann@ann.test"),
}


def endpoints() -> Iterator[tuple[str, str, Endpoint]]:
    yield from (*ROUTES, *AAP_ROUTES)


def test_each_operation_has_a_decision_on_what_it_says_of_runs() -> None:
    decided = [name for names in DECISIONS for name in names]
    assert sorted(decided) == sorted(endpoint.id for _, _, endpoint in endpoints())


def reading() -> Iterator[tuple[str, str, str]]:
    """The method, path and body's name of each request that the matrix makes."""
    for method, path, endpoint in endpoints():
        if endpoint.id != GLASS and (method == "GET" or endpoint.id in (*ONE_RUN, *BODIES)):
            yield method, path, endpoint.id


def requests(path: str, name: str, run: Any, found: Office) -> Iterator[str]:
    """The addresses of an operation about the closed run, with what narrows a list down."""
    places = {"run_id": run["id"], "step_id": "signoff", "company_id": company(found.ann).split("/")[-1],
              "vertical": "suspicion", "version": "1", "verdict_id": run["id"], "tool_id": "lookup"}  # fmt: skip
    parts = [places.get(part[1:-1], run["id"]) if part.startswith("{") else part for part in path.split("/")]
    address = "/".join(quote(part) for part in parts)
    queries = (*LISTED, *NARROWED.get(name, ())) if name in (*LISTS, *COMPANY_WIDE) else ("",)
    yield from (f"{address}?{query}" if query else address for query in queries)


@pytest.fixture
async def found(ann: Person) -> Office:
    """A run that is closed, with all that may be told of it, and one that is not."""
    found = await office(ann)
    await found["ann"].start("line", {"amount": 1})
    return found


async def closed_run(found: Office) -> Any:
    run = await found.start("ann", unique=True)
    await found.ann.put(f"/process-runs/{run['id']}/hold", {"reason": f"about {SECRET}"})
    await found.ann.send("DELETE", f"/process-runs/{run['id']}/hold")
    return run


async def strangers(found: Office, eve: Person) -> dict[str, Person]:
    """Everybody whom the run is closed to."""
    await found.group("bound", "manager")
    people = {name: found[name] for name in ("boss", "manager", "member", "viewer", "sam")}
    kinds = (("service", "admin"), ("agent", "member"))
    keys = {f"{kind} key": await found.key(f"robot-{kind}", kind, role) for kind, role in kinds}
    return {**people, **keys, "somebody of another company": eve}


def leaks(name: str, said: str, run: Any, role: str = "viewer") -> list[str]:
    """What of the closed run stands in an answer; to admins hashes of the company may name it."""
    planted = [SECRET, KEY, "Suspicion about"] + ([] if name in COMPANY_WIDE and role == "admin" else [run["id"]])
    return [one for one in planted if one in said]


async def test_nobody_whom_a_run_is_closed_to_finds_anything_of_it(found: Office, eve: Person) -> None:
    run = await closed_run(found)
    for who, person in (await strangers(found, eve)).items():
        for method, path, name in reading():
            for address in requests(path, name, run, found):
                answer = await person.send(method, address, BODIES.get(name))
                said = answer.raw.decode(errors="replace") + str(dict(answer.headers))
                about = f"{who}: {method} {address} answered {answer.status}: {said[:400]}"
                role = "admin" if who in {"boss", "service key"} else "viewer"
                assert not leaks(name, said.replace(quote(address), ""), run, role), about
                if name in ONE_RUN:
                    assert answer.status in {403, 404}, about
    for name in ("ann", "officer", "auditor"):  # so that what is looked for would be found
        assert SECRET in (await found[name].get(f"/process-runs/{run['id']}")).raw.decode()
        assert run["id"] in (await found[name].get("/events/?after=0")).raw.decode()


SCOPES: tuple[Any, ...] = ("own", ["li*"], [])


async def scoped(found: Office) -> dict[str, Person]:
    """Keys that may read what they started themselves, or runs of another process alone."""
    kinds = (("agent", "member"), ("service", "admin"))
    return {
        f"{kind} key that reads {scope}": await found.key(f"{kind} {number}", kind, role, scopes={"read": scope})
        for kind, role in kinds
        for number, scope in enumerate(SCOPES)
    }


async def test_a_key_finds_nothing_of_a_run_that_its_scopes_do_not_let_it_read(ann: Person) -> None:
    found = await office(ann, readers=None, subjects=[])
    run, other = await closed_run(found), await found["ann"].start("line", {"amount": 1})
    keys = await scoped(found)
    for who, key in keys.items():
        for method, path, name in reading():
            for address in requests(path, name, run, found):
                answer = await key.send(method, address, BODIES.get(name))
                said = answer.raw.decode(errors="replace") + str(dict(answer.headers))
                about = f"{who}: {method} {address} answered {answer.status}: {said[:400]}"
                role = "admin" if who.startswith("service") else "viewer"
                assert not leaks(name, said.replace(quote(address), ""), run, role), about
                if name in ONE_RUN:
                    assert answer.status in {403, 404}, about
        status = (await key.get(f"/process-runs/{other['id']}")).status
        assert status == (200 if "li*" in who else 404), who
    wide = await found.key("wide", "agent", "member", scopes={"read": ["susp*", "nothing"]})
    assert SECRET in (await wide.get(f"/process-runs/{run['id']}")).raw.decode()
    assert [one["id"] for one in (await wide.get("/process-runs/")).json] == [run["id"]]
    everything = await found.key("everything", "agent", "member", scopes={"read": "all"})
    assert len((await everything.get("/process-runs/")).json) == 2


async def test_sums_are_for_a_key_as_if_there_were_nothing_that_it_may_not_read(ann: Person, far: FarSide) -> None:
    found = await office(ann, readers=None, subjects=[])
    await ann.connect("lookup", far.url)
    keys = await scoped(found)
    before = {who: await sums(key) for who, key in keys.items()}
    await closed_run(found)
    assert {who: await sums(key) for who, key in keys.items()} == before


async def test_an_agent_finds_what_it_started_itself_and_streams_say_that_alone(ann: Person) -> None:
    found = await office(ann, readers=None, subjects=[])
    agent = await found.key("robot", "agent", "member", scopes={"read": "own"})
    other = await closed_run(found)
    async with asyncio.timeout(PATIENCE_S), CompanyStream(agent, "?after=0") as stream:
        own = await agent.start("line", {"amount": 1})
        await found.ann.post(f"/process-runs/{other['id']}/messages", {"name": "letter", "payload": SECRET})
        seen = await anext(stream)
        while own["id"] not in str(seen):
            assert not leaks("list_events", str(seen), other), seen
            seen = await anext(stream)
    assert (await agent.get(f"/process-runs/{own['id']}")).status == 200
    for path in ("/process-runs/", "/process-runs/?vertical=line", "/process-runs/?created_by=robot", "/gates/"):
        assert [one.get("run_id") or one["id"] for one in (await agent.get(path)).json] == [own["id"]], path
    assert (await agent.get("/gates/count")).json["open"] == 1
    assert {one["run_id"] for one in (await agent.get("/events/?after=0")).json} == {own["id"]}


async def test_a_stream_ends_for_a_key_that_may_read_no_more(ann: Person) -> None:
    found = await office(ann, readers=None, subjects=[])
    agent, run = await found.key("robot", "agent", "member"), await closed_run(found)
    (key,) = (await ann.get("/api-keys/")).json
    async with asyncio.timeout(PATIENCE_S), EventStream(agent, run["id"]) as one, CompanyStream(agent, "") as every:
        while (await anext(one))["event"] != "gate_opened":
            pass
        assert (await ann.put(f"/api-keys/{key['id']}", {"scopes": {"read": "own"}})).status == 200
        await ann.post(f"/process-runs/{run['id']}/messages", {"name": "letter", "payload": SECRET})
        assert "letter" not in [seen["event"] async for seen in one]
        assert SECRET not in str([seen async for seen in every])


async def test_a_run_that_is_closed_is_answered_as_one_that_is_not_there(found: Office) -> None:
    run, nobody = await closed_run(found), "01900000-0000-7000-8000-000000000000"
    for method, path, name in reading():
        if name in ONE_RUN:
            (there,), (gone,) = requests(path, name, run, found), requests(path, name, {"id": nobody}, found)
            one = await found["boss"].send(method, there, BODIES.get(name))
            other = await found["boss"].send(method, gone, BODIES.get(name))
            assert {**one.json, "request_id": ""} == {**other.json, "request_id": ""}, name


async def sums(person: Person) -> Any:
    """What reports sum up by template, day and tool."""
    shown = [(await person.get(f"/reports/{name}/")).json for name in ("steps", "days", "gates", "connectors")]
    summary = (await person.get("/reports/summary")).json
    opened = [(one["tier"], one["gates"], one["overdue"]) for one in summary["open"].pop("by_age")]
    return *shown, opened, {**summary, "at": None}


async def test_sums_are_as_if_there_were_no_closed_run(found: Office, eve: Person, far: FarSide) -> None:
    people = await strangers(found, eve)
    await found.ann.connect("lookup", far.url)
    open_to_all = await sums(found["officer"])
    before = {who: await sums(person) for who, person in people.items()}
    await closed_run(found)
    for shown, was in zip(await sums(found["officer"]), open_to_all, strict=True):
        assert shown != was  # so that it would be found
    assert {who: await sums(person) for who, person in people.items()} == before


async def test_calibration_counts_the_runs_that_the_caller_may_read(ann: Person) -> None:
    found = await office(ann, steps=JUDGED, judges=JUDGES)
    people = {name: found[name] for name in ("boss", "viewer", "sam", "auditor")}
    people["own"] = await found.key("own", "agent", "member", scopes={"read": "own"})
    for about in (SUBJECT, None):
        run = await found.start("ann", about=about)
        assert (await ann.resume(run, "look", "denied")).status == 200
    path = f"{company(ann)}/autonomy/calibration"
    counted = {
        name: [one["cases"] for one in (await person.get(path)).json["steps"]] for name, person in people.items()
    }
    assert counted == {"boss": [], "viewer": [], "sam": [1], "auditor": [2], "own": []}


@pytest.mark.parametrize("starter", [True, False])
async def test_sums_leave_out_what_the_policy_of_the_company_closes(ann: Person, *, starter: bool) -> None:
    found = await office(ann, readers=None, subjects=[])
    before = await sums(found["viewer"])
    await found.start("ann")
    assert await sums(found["viewer"]) != before
    narrow = {"readers": {"suspicion": {"groups": ["auditors"], "starter": starter}}}
    assert (await ann.put(f"{company(ann)}/policy", narrow)).status == 200
    assert await sums(found["viewer"]) == before
    assert await sums(found["auditor"]) != before


async def test_streams_say_nothing_of_a_closed_run(found: Office) -> None:
    run = await closed_run(found)
    for name in ("boss", "viewer", "sam"):
        async with asyncio.timeout(PATIENCE_S), CompanyStream(found[name], "?after=0") as stream:
            assert (await found["officer"].post(f"/process-runs/{run['id']}/gates/signoff/claim")).status == 200
            await found.ann.post(f"/process-runs/{run['id']}/messages", {"name": "letter", "payload": SECRET})
            opened = await found.ann.start("line", {"amount": 2})
            seen = await anext(stream)
            while opened["id"] not in str(seen):
                assert not leaks("list_events", str(seen), run), seen
                seen = await anext(stream)


async def test_streams_tell_of_claims_of_gates_that_the_reader_may_read(found: Office) -> None:
    run = await closed_run(found)
    async with asyncio.timeout(PATIENCE_S), CompanyStream(found["viewer"], "") as stream:
        async with CompanyStream(found["auditor"], "") as told:
            assert (await found["officer"].post(f"/process-runs/{run['id']}/gates/signoff/claim")).status == 200
            assert (await anext(told))["event"] == "claims_changed"
        await found.ann.start("line", {"amount": 2})
        seen = await anext(stream)
        assert seen["event"] == "run_started"
        while seen["event"] != "gate_opened":
            seen = await anext(stream)
        assert (await found.ann.post(f"/process-runs/{seen['data']['run_id']}/gates/signoff/claim")).status == 200
        assert (await anext(stream))["event"] == "claims_changed"


async def test_a_stream_ends_for_who_may_read_no_more(found: Office) -> None:
    run = await closed_run(found)
    async with asyncio.timeout(PATIENCE_S), EventStream(found["officer"], run["id"]) as stream:
        while (await anext(stream))["event"] != "gate_opened":
            pass
        await found.group("officers", "sam")
        await found.ann.post(f"/process-runs/{run['id']}/messages", {"name": "letter", "payload": SECRET})
        assert "letter" not in [one["event"] async for one in stream]
