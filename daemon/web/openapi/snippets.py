"""How each operation is called: with curl, and in Python by methods of the client.

Names in capitals stand for ids of the caller's own. An operation that is not here has no method.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pprint import pformat
from typing import Any

_VERDICT = '{"run_id": RUN_ID, "gate": "signoff", "decision": "approved", "digest": DIGEST}'
_TARGET = 'Target(base_url="https://eligibility.example.test")'
_DOCUMENT = '{"vertical": "refund", "title": "Refund", "steps": STEPS}'

CALLS = {
    "register": 'await api.register("ada@example.test", "correct horse battery", "Ada Inc")',
    "log_in": 'await api.login("ada@example.test", "correct horse battery")',
    "log_out": "await api.logout()",
    "get_account": "await api.me()",
    "change_password": 'await api.change_password("correct horse battery", "another horse battery")',
    "begin_second_factor": 'await api.begin_second_factor("correct horse battery")',
    "remove_second_factor": 'await api.remove_second_factor("correct horse battery", "123456")',
    "confirm_second_factor": 'await api.confirm_second_factor("123456")',
    "swap_code": "await api.sign_on(CODE, VERIFIER)",
    "list_sessions": "[one async for one in api.sessions()]",
    "end_other_sessions": "await api.end_other_sessions()",
    "end_session": "await api.end_session(SESSION_ID)",
    "create_api_key": 'await api.create_api_key("nightly import", role="member", kind="service")',
    "list_api_keys": "[one async for one in api.api_keys()]",
    "put_api_key": 'await api.put_api_key(KEY_ID, model="assistant-4", scopes={"read": "own"})',
    "delete_api_key": "await api.delete_api_key(KEY_ID)",
    "create_delegation": 'await api.delegate("kim@example.test", BEGINS, UNTIL)',
    "list_delegations": "[one async for one in api.delegations()]",
    "end_delegation": "await api.end_delegation(DELEGATION_ID)",
    "switch_company": "await api.switch(COMPANY_ID)",
    "look_at_invitation": "await api.invitation(TOKEN)",
    "accept_invitation": "await api.accept_invitation(TOKEN)",
    "list_members": "[one async for one in api.members(COMPANY_ID)]",
    "invite_member": 'await api.invite(COMPANY_ID, "kim@example.test", "manager")',
    "change_member": 'await api.change_role(COMPANY_ID, MEMBER_ID, "viewer")',
    "remove_member": "await api.remove_member(COMPANY_ID, MEMBER_ID)",
    "reset_second_factor": "await api.reset_second_factor(COMPANY_ID, MEMBER_ID)",
    "hand_over": "await api.hand_over(COMPANY_ID, MEMBER_ID)",
    "list_groups": "[one async for one in api.groups(COMPANY_ID)]",
    "put_group": 'await api.put_group(COMPANY_ID, "physicians", [MEMBER_ID])',
    "delete_group": 'await api.delete_group(COMPANY_ID, "physicians")',
    "request_action": 'await api.request_action("stripe.refund", {"amount": 4900}, reasoning="charged twice")',
    "get_action": "await api.action(RUN_ID)",
    "list_actions": '[one async for one in api.actions(outcome="unknown")]',
    "cancel_action": 'await api.cancel_action(RUN_ID, reason="asked for the wrong charge")',
    "get_action_rules": "await api.action_rules(COMPANY_ID)",
    "put_action_rules": 'await api.put_action_rules(COMPANY_ID, [{"id": "all", "tool": "*", "decision": "ask"}])',
    "try_action_rules": 'await api.try_action_rules(COMPANY_ID, "refund", {"amount": 4900}, agent="support-bot")',
    "put_action_pause": 'await api.pause_actions(COMPANY_ID, "It refunds twice.", agent="support-bot")',
    "delete_action_pause": 'await api.resume_actions(COMPANY_ID, agent="support-bot")',
    "list_mcp_servers": "[one async for one in api.mcp_servers()]",
    "get_mcp_server": 'await api.mcp_server("stripe")',
    "put_mcp_server": 'await api.put_mcp_server("stripe", "https://tools.example.test/mcp")',
    "delete_mcp_server": 'await api.delete_mcp_server("stripe")',
    "list_mcp_server_changes": '[one async for one in api.mcp_server_changes("stripe")]',
    "get_functions": "await api.functions(COMPANY_ID)",
    "put_functions": 'await api.put_functions(COMPANY_ID, {"medical-director": {"groups": ["physicians"]}})',
    "list_changes": "[one async for one in api.changes(COMPANY_ID)]",
    "approve_change": 'await api.approve_change(COMPANY_ID, CHANGE_ID, DIGEST, comment="as agreed")',
    "deny_change": "await api.deny_change(COMPANY_ID, CHANGE_ID, DIGEST)",
    "get_policy": "await api.policy(COMPANY_ID)",
    "put_policy": 'await api.put_policy(COMPANY_ID, second_factor="off")',
    "get_autonomy": "await api.autonomy(COMPANY_ID)",
    "get_calibration": "await api.calibration(COMPANY_ID)",
    "put_autonomy": "await api.put_autonomy(COMPANY_ID, confidence_floor=0.9)",
    "get_calendar": "await api.calendar(COMPANY_ID)",
    "put_calendar": 'await api.put_calendar(COMPANY_ID, timezone="Europe/Vienna")',
    "list_holidays": 'await api.holidays(COMPANY_ID, "AT", 2027)',
    "list_templates": "[one async for one in api.templates()]",
    "validate_template": f"await api.check_template({_DOCUMENT})",
    "get_template": 'await api.template("prior-auth")',
    "get_canvas": 'await api.canvas("prior-auth")',
    "list_rules": 'await api.rules("prior-auth")',
    "get_draft": 'await api.draft("refund")',
    "put_draft": f"await api.put_draft({_DOCUMENT})",
    "delete_draft": 'await api.delete_draft("refund")',
    "publish_template": 'await api.publish("refund")',
    "list_versions": '[one async for one in api.versions("refund")]',
    "get_version": 'await api.version("refund", 1)',
    "retire_version": 'await api.retire("refund", 1)',
    "list_drafts": "[one async for one in api.drafts()]",
    "start_run": 'await api.start("prior-auth", inputs={"member_id": "M-204417", "procedure_code": "72148"})',
    "get_run": "await api.run(RUN_ID)",
    "list_runs": '[one async for one in api.runs(status="parked")]',
    "resume_run": 'await api.resume(RUN_ID, gate="signoff", decision="approved", digest=DIGEST)',
    "propose_decision": 'await api.propose(RUN_ID, gate="signoff", decision="approved", confidence=0.9)',
    "get_gate": 'await api.gate(RUN_ID, "signoff")',
    "preview_gate": 'await api.preview(RUN_ID, "signoff")',
    "claim_gate": 'await api.claim(RUN_ID, "signoff")',
    "release_gate": 'await api.release(RUN_ID, "signoff")',
    "withdraw_verdict": 'await api.withdraw(RUN_ID, "signoff")',
    "ask_agent": 'await api.ask(RUN_ID, "refunds", "Which of the two charges?")',
    "propose_action_rule": "await api.propose_action_rule(ACTION_ID)",
    "answer_question": 'await api.answer(RUN_ID, "refunds", QUESTION_ID, "The second.")',
    "deliver_message": 'await api.deliver(RUN_ID, "documents-received", {"pages": 3})',
    "redact_run": 'await api.redact_run(RUN_ID, ["/inputs/member_id"], "request 2026-31")',
    "cancel_run": 'await api.cancel(RUN_ID, reason="ordered twice")',
    "retry_run": "await api.retry(RUN_ID)",
    "migrate_run": "await api.migrate(RUN_ID, 2)",
    "promote_run": "await api.promote(RUN_ID)",
    "list_run_events": "[one async for one in api.events(RUN_ID)]",
    "get_run_audit": "await api.run_audit(RUN_ID)",
    "get_verdict_receipt": "await api.verdict_receipt(RUN_ID, VERDICT_ID)",
    "list_gates": "[one async for one in api.gates(mine=True)]",
    "count_gates": "await api.count_gates()",
    "give_verdicts": f"await api.give_verdicts([{_VERDICT}])",
    "list_checkpoints": "[one async for one in api.checkpoints()]",
    "get_audit_keys": "await api.audit_keys()",
    "export_audit": "[line async for line in api.audit_export()]",
    "list_audit_log": "[one async for one in api.audit_log()]",
    "get_report": "await api.report()",
    "list_report_days": "[one async for one in api.report_days()]",
    "list_report_gates": "[one async for one in api.report_gates()]",
    "list_report_people": "[one async for one in api.report_people()]",
    "list_report_steps": "[one async for one in api.report_steps()]",
    "list_report_connectors": "[one async for one in api.report_connectors()]",
    "list_report_clocks": "[one async for one in api.report_clocks()]",
    "list_reported_decisions": "[one async for one in api.reported_decisions()]",
    "list_reported_clearings": "[one async for one in api.reported_clearings()]",
    "list_reported_promotions": "[one async for one in api.reported_promotions()]",
    "list_reported_failures": "[one async for one in api.reported_failures()]",
    "list_reported_gates": "[one async for one in api.reported_gates()]",
    "list_connectors": "[one async for one in api.connectors()]",
    "get_connector": 'await api.connector("eligibility-lookup")',
    "put_connector": f'await api.put_connector("eligibility-lookup", {_TARGET})',
    "delete_connector": 'await api.delete_connector("eligibility-lookup")',
    "list_connector_changes": '[one async for one in api.connector_changes("eligibility-lookup")]',
    "test_connector": f'await api.test_connector("eligibility-lookup", {_TARGET})',
    "list_events": "[one async for one in api.happened()]",
    "create_webhook": 'await api.add_webhook("https://hooks.example.test/penstock", events=["run_ended"])',
    "list_webhooks": "[one async for one in api.webhooks()]",
    "get_webhook": "await api.webhook(WEBHOOK_ID)",
    "put_webhook": 'await api.put_webhook(WEBHOOK_ID, "https://hooks.example.test/penstock")',
    "delete_webhook": "await api.delete_webhook(WEBHOOK_ID)",
    "test_webhook": "await api.test_webhook(WEBHOOK_ID)",
    "rotate_webhook": "await api.rotate_webhook(WEBHOOK_ID)",
    "list_deliveries": "[one async for one in api.deliveries(WEBHOOK_ID)]",
    "redeliver": "await api.redeliver(WEBHOOK_ID, DELIVERY_ID)",
    "create_notification": 'await api.add_notification("email", ["gate_opened"])',
    "list_notifications": "[one async for one in api.notifications()]",
    "get_notification": "await api.notification(NOTIFICATION_ID)",
    "put_notification": 'await api.put_notification(NOTIFICATION_ID, "email", ["gate_opened"])',
    "delete_notification": "await api.delete_notification(NOTIFICATION_ID)",
    "test_notification": "await api.test_notification(NOTIFICATION_ID)",
    "list_notification_deliveries": "[one async for one in api.notification_deliveries(NOTIFICATION_ID)]",
    "redeliver_notification": "await api.redeliver_notification(NOTIFICATION_ID, DELIVERY_ID)",
    "list_views": '[one async for one in api.views("runs")]',
    "put_view": 'await api.put_view("runs", "mine", "status=parked")',
    "delete_view": 'await api.delete_view("runs", "mine")',
    "get_health": "await api.health()",
}


ADDRESS = "http://127.0.0.1:8080"
LOGIN = f"""\
from penstock_client import Penstock

async with Penstock("{ADDRESS}") as api:
    await api.login("ada@example.test", "correct horse battery")"""
PLACES = {
    "list": "runs",
    "name": "physicians",
    "step_id": "signoff",
    "tool_id": "eligibility-lookup",
    "version": "1",
    "vertical": "prior-auth",
    "view": "mine",
}
REQUIRED = {"country": "AT", "year": "2027"}
_PLACE = re.compile(r"\{(\w+)\}")


def curl(verb: str, path: str, operation: Mapping[str, Any]) -> str:
    """A command for a shell that knows `TOKEN` and the ids that the path asks for."""
    address = _PLACE.sub(lambda place: PLACES.get(place[1], f"${place[1].upper()}"), path) + _query(operation)
    lines = [f'curl "{ADDRESS}{address}"' if verb == "get" else f'curl -X {verb.upper()} "{ADDRESS}{address}"']
    if needs_token(operation):
        lines.append('-H "Authorization: Bearer $TOKEN"')
    media, body = request_body(operation)
    if media is not None:
        quoted = (body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)).replace("'", "'\\''")
        lines += [f'-H "Content-Type: {media}"', f"-d '{quoted}'"]
    return " \\\n  ".join(lines)


def python(verb: str, path: str, operation: Mapping[str, Any]) -> str:
    """The client's method, or where it has none a request with aiohttp."""
    called = CALLS.get(operation["operationId"])
    if called is not None:
        return called
    address = _PLACE.sub(lambda place: PLACES.get(place[1], f"{{{place[1].upper()}}}"), path) + _query(operation)
    arguments = [f'{"f" if "{" in address else ""}"{ADDRESS}{address}"']
    if needs_token(operation):
        arguments.append('headers={"Authorization": f"Bearer {TOKEN}"}')
    media, body = request_body(operation)
    if media is not None:
        arguments.append(f"json={pformat(body, sort_dicts=False, width=90)}")
    given = ",\n    ".join(argument.replace("\n", "\n    ") for argument in arguments)
    return (
        f'async with aiohttp.request(\n    "{verb.upper()}",\n    {given},\n) as response:\n    print(response.status)'
    )


def needs_token(operation: Mapping[str, Any]) -> bool:
    return operation.get("security") != []


def request_body(operation: Mapping[str, Any]) -> tuple[str | None, Any]:
    """The media type of a request with its example; None where it takes no body."""
    for media, held in operation.get("requestBody", {}).get("content", {}).items():
        return media, held.get("example")
    return None, None


def _query(operation: Mapping[str, Any]) -> str:
    required = [given["name"] for given in operation["parameters"] if given["in"] == "query" and given.get("required")]
    return "?" + "&".join(f"{name}={REQUIRED[name]}" for name in required) if required else ""
