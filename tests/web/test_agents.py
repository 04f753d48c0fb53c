"""What an agent's key may do: it reads, starts and proposes, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from actors.core.people import MACHINE_ROLES_MAX, ROLES, rank
from tests.web.people import colleague, company
from tests.web.support import House, Person, assert_problem
from tests.web.test_api_keys import machine, made
from tests.web.test_roles import ask, operations, settings

__all__ = ["settings"]

READS = set(
    """get_account list_api_keys list_delegations list_members list_groups list_templates validate_template
    try_template import_bpmn draft_from_text get_template get_canvas list_judges get_bpmn get_draft list_versions
    list_rules get_version list_drafts get_run list_runs list_gates count_gates get_gate preview_gate list_run_events
    get_run_audit get_verdict_receipt list_checkpoints get_audit_keys export_audit list_audit_log get_report
    list_report_days list_report_gates list_report_people list_report_steps list_report_connectors
    list_report_clocks
    list_reported_decisions list_reported_clearings list_reported_failures list_reported_gates
    list_reported_promotions list_connectors get_connector list_connector_changes list_events list_webhooks
    get_webhook list_deliveries get_policy get_autonomy get_calibration get_calendar get_functions
    list_mcp_servers get_mcp_server list_mcp_server_changes
    list_holidays get_action_rules list_actions get_action""".split()  # noqa: SIM905 - names in lines
)
DOES = {"start_run", "propose_decision", "request_action", "cancel_action", "answer_question"}
NEVER = set(
    """log_out rename_account change_password begin_second_factor remove_second_factor confirm_second_factor
    list_sessions end_other_sessions end_session create_api_key put_api_key delete_api_key create_delegation
    end_delegation
    switch_company accept_invitation invite_member change_member remove_member hand_over put_group delete_group
    put_draft delete_draft publish_template retire_version resume_run give_verdicts claim_gate release_gate
    withdraw_verdict deliver_message cancel_run retry_run migrate_run promote_run hold_run release_run redact_run
    break_glass get_archive put_connector delete_connector test_connector create_webhook put_webhook delete_webhook
    test_webhook rotate_webhook rotate_notification
    redeliver create_notification list_notifications get_notification put_notification delete_notification
    test_notification list_notification_deliveries redeliver_notification put_policy put_autonomy put_calendar
    ask_agent propose_action_rule put_action_rules try_action_rules put_action_pause delete_action_pause list_agent_log
    put_mcp_server delete_mcp_server
    put_functions list_changes approve_change deny_change reset_second_factor list_views put_view delete_view""".split()  # noqa: SIM905 - names in lines
)
"""An agent sends messages (`deliver_message`) to its own runs alone."""
ROLES_OF_AGENTS = [role for role in ROLES if rank(role) <= rank(MACHINE_ROLES_MAX["agent"])]
CONNECTOR = {"base_url": "http://127.0.0.1:9", "method": "POST", "path": "/do"}


def test_it_is_decided_of_each_operation_whether_an_agent_may() -> None:
    named = {name for *_, name, described in operations() if described.get("security") != []}
    assert named == READS | DOES | NEVER
    assert not (READS | DOES) & NEVER


@pytest.mark.parametrize("role", ROLES_OF_AGENTS)
async def test_an_agents_key_of_each_role_reads_starts_and_proposes_and_does_nothing_else(
    ann: Person, house: House, role: str
) -> None:
    agent, wrong = machine(house, await made(ann, role=role)), []
    viewer = await colleague(ann, "vic", "viewer")
    place = {"company_id": ann.session["company"]["id"]}
    for method, path, name, described in operations():
        if described.get("security") == []:
            continue
        answer = await ask(agent, method, path, place)
        machined = answer.status == 403 and answer.json["reason"] == "machine"
        if machined != (name in NEVER):
            wrong.append((name, answer.status))
        elif machined and rank(described["x-authority"]["role"]) > 0:
            person = await ask(viewer, method, path, place)
            if answer.json["required"] != person.json["required"]:
                wrong.append((name, answer.json["required"]))
    assert wrong == []


@pytest.mark.parametrize("of", ["of the company", "unknown", "of another company"])
async def test_an_agent_sends_messages_to_the_runs_that_it_started_alone(
    ann: Person, eve: Person, house: House, of: str
) -> None:
    agent = machine(house, await made(ann))
    own = await agent.start("line", {"amount": 5})
    other = await (eve if of == "of another company" else ann).start("line", {"amount": 5})
    named = "01900000-0000-7000-8000-000000000000" if of == "unknown" else other["id"]
    refused = await agent.post(f"/process-runs/{named}/messages", {"name": "hello"})
    assert_problem(refused, 403, "forbidden", reason="machine", required="member")
    assert (await agent.post(f"/process-runs/{own['id']}/messages", {"name": "hello"})).status == 202


@pytest.mark.parametrize("who", ["a member", "a manager", "a service of a member", "an agent"])
async def test_only_an_admin_lets_a_connector_go_live_or_changes_one_that_is(
    ann: Person, house: House, who: str
) -> None:
    if who.startswith("a m"):
        somebody = await colleague(ann, "bob", who.removeprefix("a "))
    else:
        somebody = machine(house, await made(ann, kind="agent" if who == "an agent" else "service"))
    live = {**CONNECTOR, "reversible": True}
    refusal: dict[str, Any] = {"reason": "role", "required": "admin"}
    if who == "an agent":
        refusal = {"reason": "machine", "required": "member"}
        assert_problem(await somebody.put("/connectors/tool", CONNECTOR), 403, "forbidden", **refusal)
        await ann.put("/connectors/tool", CONNECTOR)
    else:
        assert (await somebody.put("/connectors/tool", CONNECTOR)).status == 201
        assert (await somebody.put("/connectors/tool", {**CONNECTOR, "path": "/try"})).status == 200
    for tool in ("tool", "other"):
        assert_problem(await somebody.put(f"/connectors/{tool}", live), 403, "forbidden", **refusal)
    assert (await ann.put("/connectors/tool", live)).status == 200
    stood = (await ann.get("/connectors/tool")).json
    changes: tuple[dict[str, Any], ...] = (
        {"path": "/exfil"},
        {"base_url": "http://127.0.0.1:8"},
        {"method": "PUT"},
        {"body_map": {"all": "inputs"}},
        {"query_map": {"all": "inputs"}},
        {"headers": {"X-To": "me"}},
        {"auth_type": "bearer", "auth_token": "another"},
        {"idempotent": True},
        {"reversible": False},
    )
    for change in changes:
        assert_problem(await somebody.put("/connectors/tool", {**live, **change}), 403, "forbidden", **refusal)
    assert (await ann.get("/connectors/tool")).json == stood


async def test_a_key_of_an_admins_service_lets_a_connector_go_live_and_its_change_is_in_the_log(
    ann: Person, house: House
) -> None:
    service = machine(house, await made(ann, name="deploy", kind="service", role="admin"))
    assert (await service.put("/connectors/tool", {**CONNECTOR, "reversible": True})).status == 201
    logged = [one["event"] for one in (await ann.get("/audit/log")).json]
    assert [one["by"] for one in logged if one["type"] == "connector_changed"] == ["deploy"]


async def test_storing_what_stands_changes_neither_author_nor_version(ann: Person) -> None:
    body = {**CONNECTOR, "auth_type": "bearer", "auth_token": "secret", "reversible": True}
    first, bob = (await ann.put("/connectors/tool", body)).json, await colleague(ann, "bob", "admin")
    for same in (body, {name: value for name, value in body.items() if name != "auth_token"}):
        again = await bob.put("/connectors/tool", same)
        assert (again.status, again.json) == (200, first)
    hook = (await ann.post("/webhooks/", {"url": "http://127.0.0.1:9", "events": ["run_ended"]})).json
    note = {"kind": "slack", "events": ["run_failed"], "url": "http://127.0.0.1:9/x", "group": "payers"}
    await ann.put(f"{company(ann)}/groups/payers", {"members": []})
    answer = await ann.post("/notifications/", note)
    assert answer.status == 201, answer.raw
    told = answer.json
    draft = (await ann.get("/process-templates/line/versions/1")).json["document"]
    places: tuple[tuple[str, Any], ...] = (
        (f"/webhooks/{hook['id']}", {"url": "http://127.0.0.1:9", "events": ["run_ended"]}),
        (f"/notifications/{told['id']}", note),
        ("/process-templates/line/draft", draft),
        (f"{company(ann)}/policy", {"solo": False}),
    )
    for path, what in places:
        await ann.put(path, what)
        stands = (await ann.get(path)).json
        assert (await bob.put(path, what)).status == 200, path
        assert (await ann.get(path)).json == stands, path
    drafts = (await ann.get("/template-drafts/")).json
    assert [one["saved_by"] for one in drafts] == [ann.email]
