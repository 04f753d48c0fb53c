"""Changes made by users, in one form: who, when, before, after, why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from actors.core.messages import AUTOPILOT


def change_of(event: Mapping[str, Any]) -> dict[str, Any] | None:
    """The change that an event records, as JSON; None when no user made one."""
    found = _of_run(event) or _of_later(event) or _of_log(event) or _of_people(event)
    found = found or _of_session(event) or _of_templates(event) or _of_retention(event) or _of_service(event)
    if found is None:
        return None
    action, before, after, why = found
    who = {"user": event["by"], "token": event.get("via"), "kind": attribution_of(event)["by_kind"]}
    return {"who": who, "when": event["at"], "action": action, "from": before, "to": after, "why": why}


def attribution_of(event: Mapping[str, Any]) -> dict[str, Any]:
    """Who an event is by, as `actors.core.messages.attribution` has it, from its stored form."""
    by = event.get("by") or AUTOPILOT
    kind = event.get("by_kind") or ("autopilot" if by == AUTOPILOT else "person")
    return {"by": by, "by_kind": kind, "on_behalf_of": event.get("on_behalf_of")}


def without_kind(change: dict[str, Any] | None) -> dict[str, Any] | None:
    """A change as earlier versions wrote it."""
    if change is None:
        return None
    return {**change, "who": {name: one for name, one in change["who"].items() if name != "kind"}}


OF_THE_SERVICE = {
    "adopted": ("company", "users"),
    "commits_adopted": ("number", "key"),
    "companies_adopted": ("companies",),
    "company_keys_wrapped": ("keys",),
    "roots_recorded": ("roots",),
    "template_kept": ("vertical", "template_version", "digest"),
}
"""What the service itself writes into logs, with the members that its change shows."""

PUBLICATIONS = {"template_published": "publish_template", "template_retired": "retire_template"}
_Found = tuple[str, Any, Any, str | None]


def _of_run(event: Mapping[str, Any]) -> _Found | None:
    match event.get("type"):
        case "run_started":
            to = {"status": "executing", "vertical": event["vertical"], "template_version": event["template_version"]}
            return "start", None, to, None
        case "verdict_given":
            gate = {"gate": event["step_id"], "visit": event["visit"]}
            brought = {} if event.get("inputs") is None else {"inputs": event["inputs"]}
            after = {**gate, "decision": event["decision"], **brought}
            return "verdict", {**gate, "status": "parked"}, after, event["comment"]
        case "proposal_made":
            gate = {"gate": event["step_id"], "visit": event["visit"]}
            return "propose", None, {**gate, "decision": event["decision"]}, event["comment"]
        case "run_ended" if event["status"] == "cancelled":
            return "cancel", {"status": event.get("was")}, {"status": "cancelled"}, event["reason"]
        case "run_migrated":
            before, after = event["from_version"], event["template_version"]
            return "migrate", {"template_version": before}, {"template_version": after}, None
        case "run_promoted":
            return "promote", None, {"promoted_to": event["promoted_to"]}, None
        case "step_entered" if event["by"] is not None:
            step = {"step": event["step_id"]}
            before = {**step, "visit": event["visit"] - 1}
            return "retry", before, {**step, "visit": event["visit"]}, None
        case _:
            return None


def _of_later(event: Mapping[str, Any]) -> _Found | None:
    """What people do to a run that is under way, beside its verdicts."""
    match event.get("type"):
        case "verdict_withdrawn" if attribution_of(event)["by_kind"] == "person":
            gate = {"gate": event["step_id"], "visit": event["visit"]}
            return "withdraw", {**gate, "verdict": event.get("verdict_id")}, gate, None
        case "message_received":
            return "deliver", None, {"message": event["name"]}, None
        case "compensation_began" if event.get("by") is not None:
            return "cancel", {"status": event.get("was")}, {"status": "compensating"}, event.get("reason")
        case _:
            return None


def _of_log(event: Mapping[str, Any]) -> _Found | None:
    match event.get("type"):
        case "registered":
            return "register", None, {name: event[name] for name in ("company", "role", "user")}, None
        case "connector_changed":
            secret = {"tool_id": event["tool_id"], "secret": event["secret"]}
            return "change_connector", event["before"], {**secret, "connector": event["after"]}, None
        case "webhook_changed" | "notification_changed" as kind:
            what = kind.removesuffix("_changed")
            after = {f"{what}_id": event[f"{what}_id"], what: event["after"]}
            return f"change_{what}", event["before"], after, (event["after"] or {}).get("reason")
        case "subject_linked":
            return "link_subject", None, {name: event[name] for name in ("user", "issuer", "subject")}, None
        case "policy_changed" | "calendar_changed" | "autonomy_changed" as kind:
            return f"change_{kind.removesuffix('_changed')}", event["before"], event["after"], None
        case "keys_changed":
            return "change_keys", event["before"], {"purpose": event["purpose"], "keys": event["after"]}, None
        case _:
            return None


def _of_people(event: Mapping[str, Any]) -> _Found | None:
    match event.get("type"):
        case "member_changed":
            after = {"member": event["member"], **event["after"]}
            return _of_member(event["before"], event["after"]), event["before"], after, None
        case "group_changed":
            before, after = ({"group": event["group"], "members": event[side]} for side in ("before", "after"))
            return "change_group", before, after, None
        case "delegation_made" | "delegation_ended" as kind:
            return _of_delegation(kind, event)
        case "name_changed":
            return "change_name", None, {name: event[name] for name in ("user", "name")}, None
        case _:
            return None


def _of_member(before: Mapping[str, Any] | None, after: Mapping[str, Any]) -> str:
    """What a change of a member is called."""
    if after["status"] == "removed":
        return "remove_member"
    if after["status"] == "pending":
        return "invite_member"
    return "join" if before is None or before["status"] == "pending" else "change_role"


def _of_delegation(kind: str, event: Mapping[str, Any]) -> _Found:
    who = {name: event[name] for name in ("delegation", "giver", "to")}
    if kind == "delegation_ended":
        return "end_delegation", who, None, event["reason"]
    return "delegate", None, {**who, **{name: event[name] for name in ("begins", "ends", "verticals")}}, None


def _of_session(event: Mapping[str, Any]) -> _Found | None:
    match event.get("type"):
        case "logged_in":
            return "log_in", None, {"token": event["token"], "until": event["until"]}, None
        case "logged_out":
            return "log_out", {"token": event["token"]}, None, None
        case "session_ended":
            return "end_session", {"session": event["session"]}, None, event["reason"]
        case "sessions_ended":
            return "end_other_sessions", None, {name: event[name] for name in ("user", "kept", "epoch")}, None
        case "password_changed":
            return "change_password", None, {name: event[name] for name in ("user", "kept", "epoch")}, None
        case "second_factor_changed":
            return "change_second_factor", None, {name: event[name] for name in ("user", "change")}, None
        case "login_refused":
            return "log_in_refused", None, None, event["reason"]
        case _:
            return None


def _of_templates(event: Mapping[str, Any]) -> _Found | None:
    action = PUBLICATIONS.get(str(event.get("type")))
    if action is None:
        return None
    return action, None, {name: event[name] for name in ("vertical", "template_version", "digest")}, None


def _of_retention(event: Mapping[str, Any]) -> _Found | None:
    match event.get("type"):
        case "hold_changed":
            after = {"run_id": event["run_id"], "hold": event["after"]}
            return "change_hold", event["before"], after, (event["after"] or {}).get("reason")
        case "run_redacted":
            what = {name: event[name] for name in ("run_id", "number", "pointers")}
            return "redact_run", None, {**what, "places": len(event["places"])}, event["reason"]
        case "run_archived":
            kept = {name: event["form"][name] for name in ("run_id", "version", "sha256")}
            return "archive_run", None, {**kept, "after_days": event["after_days"]}, None
        case _:
            return None


def _of_service(event: Mapping[str, Any]) -> _Found | None:
    kind = str(event.get("type"))
    names = OF_THE_SERVICE.get(kind)
    return None if names is None else (kind, None, {name: event[name] for name in names}, None)
