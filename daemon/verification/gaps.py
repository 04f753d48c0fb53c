"""What `penstock verify` does not find, and why: the guide prints this, and a test holds it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from daemon.stores.tables.agents.actions import DOCUMENTS, HOLDS, JOINS
from daemon.stores.tables.people.saved_views import SAVED_VIEWS
from daemon.stores.tables.reports.following import CLOCKS, DECISIONS, FAILURES, VISITS
from daemon.stores.tables.templates import DRAFTS

RowChange = Literal["deleted", "inserted"]


@dataclass(frozen=True, slots=True)
class Gap:
    """Columns of a table that may be changed unseen, and rows that may come or go."""

    table: str
    columns: tuple[str, ...]
    why: str
    rows: tuple[RowChange, ...] = ()


_RECEIPT = ("path", "key", "fingerprint", "run_id", "status", "headers", "body", "created_at")
_ATTEMPTS = ("attempts", "tries", "next_at", "last_at", "status_code", "latency_ms", "error")
_CALLS = ("calls", "failed", "last_at", "last_error")
_PROGRESS = ("number", "status", *_ATTEMPTS, "mark")

REPORTS: dict[str, tuple[str, ...]] = {
    "report_cursors": ("company_id", "position"),
    VISITS.name: (*VISITS.beside, *VISITS.columns),
    DECISIONS.name: DECISIONS.columns,
    FAILURES.name: FAILURES.columns,
    CLOCKS.name: CLOCKS.columns,
    "report_steps": ("company_id", "day", "vertical", "step_id", "cleared"),
    "report_calls": ("company_id", "day", "tool_id", *_CALLS),
    "report_tool_calls": ("company_id", "day", "vertical", "tool_id", *_CALLS),
}

GAPS = (
    Gap(
        "receipts",
        ("company_id", *_RECEIPT),
        "Responses stored for repeated requests, for a day. A caller who repeats a request may be told something "
        "else, or is taken for new; what runs have done is in their histories.",
        ("deleted", "inserted"),
    ),
    Gap(
        "company_usage",
        ("company_id", "runs", "bytes", "position"),
        "Counts what a company has stored. A changed one lets it store more than its budget, or less.",
        ("deleted", "inserted"),
    ),
    *(
        Gap(
            table,
            columns,
            "What reports count. A changed one alters a number on the dashboard; the histories that it was counted "
            "from are what verifies.",
            ("deleted", "inserted"),
        )
        for table, columns in REPORTS.items()
    ),
    Gap(
        "webhooks",
        ("failures", "cursor_position", "cursor_nth"),
        "How far deliveries have come. Events may be delivered again or never, to the same address.",
    ),
    Gap(
        "notifiers",
        ("company_id", "cursor_position", "cursor_nth"),
        "How far events have become notifications. People may be told of events again or never; whom a notification "
        "is for, and where it goes, is in the log.",
        ("deleted", "inserted"),
    ),
    Gap(
        "webhook_deliveries",
        ("webhook_id", "type", "created_at", *_PROGRESS),
        "Progress of deliveries. An event of the company may be delivered again, never, or to another of its webhooks.",
        ("deleted",),
    ),
    Gap(
        "sessions",
        ("created_at", "last_used_at", "address", "user_agent"),
        "Shown to the user; a page that was idle for long may be renewed.",
    ),
    Gap(
        "sessions",
        ("family_hash", "current_hash", "previous_hash", "rotated_at"),
        "Hashes of refresh tokens change too often for a log. Who can write them can renew the session of a page "
        "that its user has not ended; the session itself is in the log.",
    ),
    Gap(
        "second_factors",
        ("last_step",),
        "When a code was used last. With an earlier time a code can be used again while it counts, for a minute and "
        "a half at most.",
    ),
    Gap("api_keys", ("last_used_at",), "Shown to the user; nothing depends on it."),
    Gap("snapshots", (), "A cache: without its row the run is read from its history.", ("deleted",)),
    Gap("migrations", ("applied_at",), "When the schema was changed; nothing depends on it."),
    Gap("migrations", ("rolls_from",), "Which daemons go on beside a schema, on PostgreSQL: others end."),
    Gap(
        "runs",
        ("epoch", "moved_by", "moved_from", "claimed"),
        "Which daemon performs a run, on PostgreSQL. A changed one delays the run, or parks a call as unknown.",
    ),
    Gap(
        "runs",
        ("number",),
        "Leads from a run to its snapshot, in SQLite. That of an archived run, which has none, leads nowhere.",
    ),
    Gap(
        "open_gates",
        ("number",),
        "The inbox. It lists a run that has no row again when a daemon starts; SQLite's `number` leads searches to a "
        "row, and a changed one lets them find another gate or none.",
        ("deleted",),
    ),
    Gap(
        "gate_claims",
        ("company_id", "run_id", "step_id", "visit", "claimed_by", "claimed_at"),
        "Who looks at a gate. It is shown to others and binds nobody.",
        ("deleted", "inserted"),
    ),
    Gap(
        SAVED_VIEWS.name,
        SAVED_VIEWS.columns,
        "What a person searches and filters by. A changed one shows that person another list.",
        ("deleted", "inserted"),
    ),
    Gap(
        "search_progress",
        ("company_id", "position"),
        "How far the search index of runs has come. With a changed one searches find fewer runs; lists show them all.",
        ("deleted", "inserted"),
    ),
    Gap(
        "run_words",
        ("company_id", "run_id", "words"),
        "The search index of runs, on PostgreSQL. With a changed one searches find other runs, each shown as it is.",
        ("deleted", "inserted"),
    ),
    Gap(
        "business_keys",
        ("company_id", "vertical", "key", "run_id", "reserved_at"),
        "Which run has a unique business key while it starts. A changed one refuses a start, or lets two that come "
        "at once begin; the key of each run is in its history.",
        ("deleted", "inserted"),
    ),
    Gap(
        "actions",
        ("taken_at", "held_at"),
        "When the result of an action was handed out to the same call, and since when its call is held.",
    ),
    Gap(
        HOLDS.name,
        HOLDS.columns,
        "What is held of budgets while actions begin, for a minute. A changed one lets a call pass, or asks a person.",
        ("deleted", "inserted"),
    ),
    Gap(
        JOINS.name,
        JOINS.columns,
        "Which action the same call joins. With a changed one a call becomes an action of its own, or gets the result "
        "of another one of the company.",
        ("deleted", "inserted"),
    ),
    Gap(
        DOCUMENTS.name,
        ("company_id",),
        "The documents that actions run by, each by its digest, which its runs have. Without it they do not go on.",
        ("deleted",),
    ),
    Gap("mcp_server_changes", ("noted_at",), "When other daemons look again, on PostgreSQL."),
    Gap("action_pauses", ("noted_at",), "When other daemons look again, on PostgreSQL."),
    Gap(
        "evaluations_begun",
        ("company_id", "run_id", "version", "begun_by"),
        "Under which evaluation a daemon was killed. A changed one lets it be made again, or parks the run in place "
        "of it.",
        ("deleted", "inserted"),
    ),
    Gap(
        DRAFTS.name,
        DRAFTS.columns,
        "What is being written. Nothing runs by it; publishing it is in the log.",
        ("deleted", "inserted"),
    ),
    Gap("own_templates", ("noted_at",), "When other daemons look again, on PostgreSQL."),
    Gap("webhooks", ("epoch",), "Which daemon delivers, on PostgreSQL."),
    Gap(
        "archivers",
        ("company_id", "epoch"),
        "Which daemon archives the runs of a company, on PostgreSQL.",
        ("deleted", "inserted"),
    ),
    Gap("notifiers", ("epoch",), "Which daemon makes notifications of events, on PostgreSQL."),
    Gap("connector_changes", ("noted_at",), "When other daemons look again, on PostgreSQL."),
    Gap("revocations", ("noted_at",), "When other daemons look again, on PostgreSQL."),
    Gap(
        "members",
        ("entered_at",),
        "When a member began the last session. It says which of several companies a log-in enters.",
    ),
    Gap("members", ("noted_at",), "When other daemons look again, on PostgreSQL."),
    Gap("autonomies", ("noted_at",), "When other daemons look again, on PostgreSQL."),
    Gap("policies", ("noted_at",), "When other daemons look again, on PostgreSQL."),
    Gap(
        "company_changes",
        ("company_id", "noted_at"),
        "When other daemons look again, on PostgreSQL.",
        ("deleted", "inserted"),
    ),
    Gap("second_factors", ("noted_at",), "When other daemons look again, on PostgreSQL."),
    Gap("api_keys", ("noted_at",), "When other daemons look again, on PostgreSQL."),
    Gap("users", ("epoch_noted_at",), "When other daemons look again, on PostgreSQL."),
    Gap(
        "daemons",
        ("epoch", "name", "held_from", "until", "heard"),
        "The leases of daemons that are alive, on PostgreSQL. A changed one stops a daemon.",
        ("deleted", "inserted"),
    ),
    Gap("epochs", ("sole", "last"), "The number of the last lease, on PostgreSQL."),
    Gap("clocks", ("position",), "Where the commits of a company are numbered on, on PostgreSQL.", ("inserted",)),
    Gap("rates", ("who", "hits"), "Recent requests by caller, on PostgreSQL.", ("deleted", "inserted")),
    Gap("moves", ("sole", "source", "done"), "Where a migration came from, on PostgreSQL.", ("deleted", "inserted")),
)


def undetectable(table: str) -> set[str]:
    """The columns of a table that may be changed, and how its rows may."""
    return {name for gap in GAPS if gap.table == table for name in (*gap.columns, *gap.rows)}
