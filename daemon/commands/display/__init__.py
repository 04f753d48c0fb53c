"""What commands show in a terminal."""

from daemon.commands.display.company import (
    account,
    api_keys,
    autonomy,
    calendar,
    changes,
    delegations,
    deliveries,
    functions,
    groups,
    holidays,
    members,
    notifications,
    webhooks,
)
from daemon.commands.display.deciding import open_gate, planned, receipt
from daemon.commands.display.printing import ask, print_json, show, text, time
from daemon.commands.display.running import event, gate_rows, parked, question, rules, run, runs, template, templates

__all__ = [
    "account",
    "api_keys",
    "ask",
    "autonomy",
    "calendar",
    "changes",
    "delegations",
    "deliveries",
    "event",
    "functions",
    "gate_rows",
    "groups",
    "holidays",
    "members",
    "notifications",
    "open_gate",
    "parked",
    "planned",
    "print_json",
    "question",
    "receipt",
    "rules",
    "run",
    "runs",
    "show",
    "template",
    "templates",
    "text",
    "time",
    "webhooks",
]
