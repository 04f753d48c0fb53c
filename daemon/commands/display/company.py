"""The people, keys, days, webhooks and notifications of a company in a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rich.console import Group
from rich.table import Table

from daemon.client import (
    ActionPauses,
    ActionRules,
    ActionTrialResult,
    AgentEntry,
    ApiKey,
    Autonomy,
    Calendar,
    Delegation,
    Delivery,
    Function,
    GatedChange,
    Holidays,
    Member,
    NotificationDelivery,
    NotificationRule,
    OwnAccount,
    Webhook,
)
from daemon.client import Group as People
from daemon.commands.display.printing import add_row, new_table, status, text, time


def action_rules(found: ActionRules) -> Group:
    """The rules in their order, and what is stopped."""
    table = new_table("rule", "version", "tool", "agent", "when", "decision", "allowed", "asked", "denied")
    for one in found.rules:
        counts = (one.hits.allow, one.hits.ask, one.hits.deny)
        add_row(table, one.id, one.version, one.tool, one.agent or "*", one.when, one.decision, *counts)
    return Group(table, action_pauses(found.paused))


def action_pauses(found: ActionPauses) -> Table:
    table = new_table("stopped", "by", "at", "reason")
    for name, one in (*([("all agents", found.all)] if found.all is not None else []), *found.agents.items()):
        add_row(table, name, one.by, time(one.at), one.reason)
    return table


def action_trial(found: ActionTrialResult) -> Table:
    table = new_table("decision", "rule", "version", "why")
    add_row(table, found.decision, found.rule, found.version, found.why)
    return table


def agent_log(found: Iterable[AgentEntry]) -> Table:
    """What agents did with who oversaw it, and when they were stopped."""
    table = new_table("at", "what", "agent", "model", "tool", "rule", "decision", "outcome", "overseen by", "reason")
    for one in found:
        rule = None if one.rule is None else f"{one.rule.id} {one.rule.version}"
        overseen = [f"{each.by}: {each.decision}" for each in one.verdicts]
        overseen += [f"{each.by}: {each.kind}" for each in one.overrides]
        by = one.by or ", ".join(overseen)
        cells = (one.agent or "all agents", one.model, one.tool, rule, one.decision, one.outcome, by, one.reason)
        add_row(table, time(one.at), one.kind, *cells)
    return table


def api_keys(found: Iterable[ApiKey]) -> Table:
    table = new_table("key", "name", "kind", "role", "model", "scopes", "prefix", "expires", "last used")
    for one in found:
        expires, used = (None if at is None else time(at) for at in (one.expires_at, one.last_used_at))
        model, scopes = ", ".join((*filter(None, (one.model,)), *one.models)), _scopes(one)
        named = (one.id, one.name, one.kind, one.role, model, scopes, one.prefix)
        add_row(table, *named, expires or "never", used or "never")
    return table


def _scopes(key: ApiKey) -> str:
    said = {} if key.scopes is None else key.scopes.model_dump(exclude_none=True)
    globs = {name: one if isinstance(one, str) else ", ".join(one) or "nothing" for name, one in said.items()}
    return "; ".join(f"{name} {one}" for name, one in globs.items())


def members(found: Iterable[Member]) -> Table:
    table = new_table("member", "email", "name", "role", "status", "invited by")
    for one in found:
        add_row(table, one.id, one.email, one.name, one.role, one.status, one.invited_by)
    return table


def groups(found: Iterable[People], addresses: Mapping[str, str]) -> Table:
    table = new_table("group", "members")
    for one in found:
        add_row(table, one.name, ", ".join(addresses.get(each, each) for each in one.members))
    return table


def delegations(found: Iterable[Delegation], addresses: Mapping[str, str]) -> Table:
    table = new_table("delegation", "giver", "to", "from", "until", "verticals")
    for one in found:
        giver, to = (addresses.get(each, each) for each in (one.giver, one.to))
        add_row(table, one.id, giver, to, time(one.begins), time(one.until), ", ".join(one.verticals or ()) or "all")
    return table


def functions(found: Mapping[str, Function], addresses: Mapping[str, str]) -> Table:
    """Who fills each function, and the gates that ask for it."""
    table = new_table("function", "label", "filled by", "people", "asked for at")
    for name, one in found.items():
        by = [*(f"group {group}" for group in one.groups), *(addresses.get(each, each) for each in one.members)]
        stands_in = "nobody" if one.role is None else f"nobody: the role {one.role}"
        used = [f"{each.vertical}/{step}" for each in one.used_by for step in each.steps]
        add_row(table, name, one.label, ", ".join(by) or stands_in, one.people, ", ".join(used) or "no gate")
    return table


def changes(found: Iterable[GatedChange]) -> Table:
    """What was asked for by whom, and what became of it."""
    table = new_table("change", "act", "what", "asked by", "at", "state", "decided by", "digest")
    for one in found:
        cells = (one.id, one.act, one.what, one.by, time(one.at), status(one.status), one.decided_by or "", one.digest)
        add_row(table, *cells)
    return table


def autonomy(one: Autonomy) -> Table:
    table = new_table("autonomy", "")
    add_row(table, "steps are cleared", "yes" if one.auto_resolve else "no")
    add_row(table, "confidence floor", f"{one.confidence_floor:g}")
    add_row(table, "irreversible floor", f"{one.irreversible_floor:g}")
    for name, step in one.learnable.items():
        add_row(table, f"learns: {name}", f"above {step.threshold:g}, people see one in {step.sample_one_in}")
    return table


def calendar(one: Calendar) -> Table:
    table = new_table("calendar", "")
    add_row(table, "time zone", one.timezone)
    add_row(table, "weekend", ", ".join(one.weekend) or "none")
    add_row(table, "holidays", ", ".join(one.holidays) or "none")
    return table


def holidays(found: Holidays) -> Table:
    table = new_table("date", "holiday")
    for one in found.holidays:
        add_row(table, one.date, one.name)
    return table


def account(one: OwnAccount) -> Group:
    """Who somebody is, and the companies of that person."""
    table = new_table("company", "name", "role", "current")
    for each in one.companies:
        add_row(table, each.id, each.name, each.role, "yes" if each.id == one.company.id else "")
    return Group(text(f"{one.user.email}  {one.kind}  {one.role} of {one.company.name}"), table)


def webhooks(found: Iterable[Webhook]) -> Table:
    table = new_table("webhook", "url", "events", "state", "failures", "description")
    for one in found:
        state = "enabled" if one.enabled else f"disabled: {one.disabled_reason}"
        add_row(table, one.id, one.url, ", ".join(one.events or ["all"]), state, one.failures, one.description)
    return table


def notifications(found: Iterable[NotificationRule], addresses: Mapping[str, str]) -> Table:
    """Who is told of what, where and when."""
    table = new_table("notification", "kind", "for", "events", "processes", "to", "when", "state", "description")
    for one in found:
        whom = one.group or addresses.get(one.member_id or "", one.member_id or "")
        events, processes = ", ".join(one.events), ", ".join(one.verticals or ("all",))
        state = "enabled" if one.enabled else f"disabled: {one.disabled_reason or 'as asked'}"
        cells = (one.kind, whom, events, processes, one.url or "e-mail", _times(one), state, one.description)
        add_row(table, one.id, *cells)
    return table


def _times(one: NotificationRule) -> str:
    """When something is sent: at once, or collected, and not at night."""
    quiet = one.quiet_hours
    at = {"PT1H": "hourly", "P1D": "daily"}.get(one.digest or "", "at once")
    return at if quiet is None else f"{at}, not {quiet.begins}-{quiet.ends} {quiet.timezone or ''}".rstrip()


def deliveries(found: Iterable[Delivery] | Iterable[NotificationDelivery]) -> Table:
    table = new_table("delivery", "event", "run", "status", "attempts", "answered", "next", "error")
    for one in found:
        later = "" if one.next_attempt_at is None else time(one.next_attempt_at)
        cells = (one.id, one.type, one.run_id, status(one.status), one.attempts, one.status_code, later, one.error)
        add_row(table, *cells)
    return table
