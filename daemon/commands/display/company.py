"""The people, keys and days of a company in a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rich.console import Group
from rich.table import Table

from daemon.client import ApiKey, Autonomy, Calendar, Delegation, Holidays, Member, OwnAccount
from daemon.client import Group as People
from daemon.commands.display.printing import add_row, new_table, text, time


def api_keys(found: Iterable[ApiKey]) -> Table:
    table = new_table("key", "name", "kind", "role", "prefix", "expires", "last used")
    for one in found:
        expires, used = (None if at is None else time(at) for at in (one.expires_at, one.last_used_at))
        add_row(table, one.id, one.name, one.kind, one.role, one.prefix, expires or "never", used or "never")
    return table


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
