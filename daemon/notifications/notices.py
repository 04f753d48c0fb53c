"""What a notification says: a headline, a few facts and a link. No input of a run is in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, tzinfo
from typing import Any
from urllib.parse import quote

from msgspec import Struct

from actors.core.run import Run, Visit
from daemon.mail.texts import shown, shown_as_sender
from daemon.model.events.notifications import NotificationEvent
from daemon.notifications.audience import Occurrence, visit_at
from daemon.notifications.situations import NotificationContext

LISTED_MAX = 20
"""How many notices one message lists; it counts the others."""

_HEADLINES: dict[NotificationEvent, str] = {
    "gate_opened": "Decision needed: {label}",
    "gate_reminded": "Reminder: {label} is still open",
    "gate_escalated": "Escalated: {label} is overdue",
    "gate_blocked": "Blocked: too few people can decide at {label}",
    "gate_decided": "Decided: {label}: {decision}",
    "run_failed": "Run failed at {label}",
}
_COUNTED: dict[NotificationEvent, tuple[str, str]] = {
    "gate_opened": ("decision needed", "decisions needed"),
    "gate_reminded": ("reminder", "reminders"),
    "gate_escalated": ("escalation", "escalations"),
    "gate_blocked": ("blocked gate", "blocked gates"),
    "gate_decided": ("gate decided", "gates decided"),
    "run_failed": ("run failed", "runs failed"),
}


class Notice(Struct, frozen=True, kw_only=True):
    """One event as people are told of it; `url` is a page, and opening it decides nothing."""

    type: NotificationEvent
    run_id: str
    vertical: str
    process: str
    business_key: str | None
    gate: str | None
    label: str
    tier: str | None
    due_at: datetime | None
    decision: str | None
    by: str | None
    error: str | None
    url: str

    @property
    def headline(self) -> str:
        return _HEADLINES[self.type].format(label=self.label, decision=self.decision)

    @property
    def link_text(self) -> str:
        return "Open the run" if self.type in ("gate_decided", "run_failed") else "Open the gate"

    def facts(self, zone: tzinfo) -> list[tuple[str, str]]:
        """What else there is to say, by name."""
        due = None if self.due_at is None else self.due_at.astimezone(zone)
        found = (
            ("Process", self.process),
            ("Business key", self.business_key),
            ("Risk", self.tier),
            ("Due", None if due is None else f"{due:%Y-%m-%d %H:%M} {due.tzname()}"),
            ("Decided by", self.by),
            ("Error", self.error),
        )
        return [(name, value) for name, value in found if value is not None]


class Message(Struct, frozen=True, kw_only=True):
    """What is sent at once: one notice, or those of a digest."""

    id: str
    at: datetime
    zone: tzinfo
    notices: Sequence[Notice]
    inbox_url: str
    listed_max: int = LISTED_MAX

    @property
    def title(self) -> str:
        if len(self.notices) == 1:
            (one,) = self.notices
            return one.headline if one.business_key is None else f"{one.headline} ({one.business_key})"
        counts = Counter(one.type for one in self.notices)
        return ", ".join(f"{count} {_COUNTED[kind][count > 1]}" for kind, count in counts.items())

    @property
    def listed(self) -> Sequence[Notice]:
        return self.notices[: self.listed_max]

    @property
    def rest(self) -> str | None:
        """A line about the notices that are not listed."""
        more = len(self.notices) - len(self.listed)
        return f"And {more} more." if more else None


def notice_of(occurrence: Occurrence, situation: NotificationContext, public_url: str) -> Notice:
    """What is said of something that happened in a run."""
    run, template = situation.run, situation.setting.template
    visit = visit_at(occurrence, run)
    return Notice(
        type=occurrence.type,
        run_id=run.id,
        vertical=run.vertical,
        process=shown(template.title),
        business_key=None if run.business_key is None else shown(run.business_key),
        gate=visit.step_id if visit is not None and visit.gate is not None else None,
        label=shown(_label(visit, situation)),
        tier=None if visit is None else visit.tier,
        url=_page(occurrence, run, public_url),
        **_of_visit(occurrence, visit, run),
    )


def sample(public_url: str) -> Notice:
    """What a test sends."""
    return Notice(
        type="gate_opened",
        run_id="",
        vertical="test",
        process="A test of this notification",
        business_key=None,
        gate=None,
        label="Test, nothing to decide",
        tier=None,
        due_at=None,
        decision=None,
        by=None,
        error=None,
        url=f"{public_url}/#/",
    )


def _label(visit: Visit | None, situation: NotificationContext) -> str:
    if visit is not None and visit.gate is not None:
        return visit.gate.label
    error = situation.run.error
    step_id = visit.step_id if visit is not None else None if error is None else error.step_id
    found = next((node for node in situation.setting.template.nodes if node.id == step_id), None)
    return step_id or "a step" if found is None else found.label


def _of_visit(occurrence: Occurrence, visit: Visit | None, run: Run) -> dict[str, Any]:
    """When the gate is due, how it was decided, or why the run failed."""
    gate = None if visit is None else visit.gate
    verdict = None if visit is None or occurrence.type != "gate_decided" else visit.verdict
    failed = occurrence.type == "run_failed" and run.error is not None
    return {
        "due_at": None if gate is None or occurrence.type == "gate_decided" else gate.due_at,
        "decision": None if verdict is None else shown(verdict.decision),
        "by": None if verdict is None else shown_as_sender(verdict.by),
        "error": run.error.code if failed and run.error is not None else None,
    }


def _page(occurrence: Occurrence, run: Run, public_url: str) -> str:
    """The page of the open gate, or of the run."""
    page = f"{public_url}/#/runs/{run.id}"
    if occurrence.step_id is None or occurrence.type in ("gate_decided", "run_failed"):
        return page
    return f"{page}/gates/{quote(occurrence.step_id, safe='')}"
