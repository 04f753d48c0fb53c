"""Webhooks and notifications in a terminal, and what became of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rich.table import Table

from daemon.client import Delivery, NotificationDelivery, NotificationRule, Webhook
from daemon.commands.display.printing import add_row, new_table, status, time


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
