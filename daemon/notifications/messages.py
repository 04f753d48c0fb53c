"""What a notification says, and in which format: a headline, a few facts and a link.

No input of a run is in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, tzinfo
from typing import Any
from urllib.parse import quote

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from actors.core.run import Run, Visit
from daemon.mail.texts import Mail, shown, shown_as_sender
from daemon.model.events.company import NotificationEvent
from daemon.notifications.audience import NotificationContext, Occurrence, visit_at
from daemon.runtime.json_codec import dumps
from daemon.webhooks.sender import payload

KEY_CHARS_MAX = 400
"""Room for the longest key, and for a space behind each of its dots."""
LISTED_MAX = 20
"""How many notices one message lists; it counts the others."""

_HEADLINES: dict[NotificationEvent, str] = {
    "gate_opened": "Decision needed: {label}",
    "gate_reminded": "Reminder: {label} is still open",
    "gate_escalated": "Escalated: {label} is overdue",
    "gate_blocked": "Blocked: too few people can decide at {label}",
    "gate_decided": "Decided: {label}: {decision}",
    "clock_warned": "Due soon: {label}",
    "clock_breached": "Overdue: {label}",
    "run_failed": "Run failed at {label}",
    "glass_broken": "Somebody who is no reader reads a run: {label}",
    "question_answered": "The agent has answered: {label}",
}
IN_DOUBT = "In doubt: {label} may have happened"
"""In place of the headline of a gate about a call of which nobody knows what came."""
_ASKED_BECAUSE = {
    "budget": "the budget of the rule does not suffice",
    "no rule fits": "no rule fits",
    "condition failed": "the condition of the rule has no clear answer",
    "autonomy is off": "nothing is cleared without a person",
    "the same call may have happened": "the same call may have happened",
    "the same call is under way": "the same call is under way",
}
"""What is said of why a person is asked, by how that begins; what follows may be the agent's."""
_COUNTED: dict[NotificationEvent, tuple[str, str]] = {
    "gate_opened": ("decision needed", "decisions needed"),
    "gate_reminded": ("reminder", "reminders"),
    "gate_escalated": ("escalation", "escalations"),
    "gate_blocked": ("blocked gate", "blocked gates"),
    "gate_decided": ("gate decided", "gates decided"),
    "clock_warned": ("case due soon", "cases due soon"),
    "clock_breached": ("case overdue", "cases overdue"),
    "run_failed": ("run failed", "runs failed"),
    "glass_broken": ("run read by who is no reader", "runs read by who is no reader"),
    "question_answered": ("answer of an agent", "answers of agents"),
}


_OF_RUNS: frozenset[NotificationEvent] = frozenset(
    ("gate_decided", "clock_warned", "clock_breached", "run_failed", "glass_broken")
)
"""What leads to the page of the run."""


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
    on_behalf_of: str | None = None
    error: str | None
    agent: str | None = None
    asked_because: str | None = None
    in_doubt: bool = False
    url: str

    @property
    def headline(self) -> str:
        words = IN_DOUBT if self.in_doubt and self.type == "gate_opened" else _HEADLINES[self.type]
        return words.format(label=self.label, decision=self.decision)

    @property
    def key(self) -> str | None:
        """The business key as people read it."""
        return None if self.business_key is None else shown(self.business_key, KEY_CHARS_MAX)

    @property
    def link_text(self) -> str:
        return "Open the run" if self.type in _OF_RUNS else "Open the gate"

    def facts(self, zone: tzinfo) -> list[tuple[str, str]]:
        """What else there is to say, by name."""
        due = None if self.due_at is None else self.due_at.astimezone(zone)
        found = (
            ("Process", self.process),
            ("Business key", self.key),
            ("Agent", self.agent),
            ("Asked because", self.asked_because),
            ("Risk", self.tier),
            ("Due", None if due is None else f"{due:%Y-%m-%d %H:%M} {due.tzname()}"),
            ("Decided by", self.by if self.on_behalf_of is None else f"{self.by} for {self.on_behalf_of}"),
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
            return one.headline if one.key is None else f"{one.headline} ({one.key})"
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
    visit, clock = visit_at(occurrence, run), None if occurrence.clock is None else run.clock(occurrence.clock)
    return Notice(
        type=occurrence.type,
        run_id=run.id,
        vertical=run.vertical,
        process=shown(template.title),
        business_key=run.business_key,
        gate=visit.step_id if visit is not None and visit.gate is not None else None,
        label=shown(_label(visit, situation) if clock is None else clock.label),
        tier=None if visit is None else visit.tier,
        url=_page(occurrence, run, public_url),
        **_of_visit(occurrence, visit, run),
        **_of_action(visit, run),
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
    if visit is None and situation.run.error is None:
        return situation.setting.template.title
    error = situation.run.error
    step_id = visit.step_id if visit is not None else None if error is None else error.step_id
    found = next((node for node in situation.setting.template.nodes if node.id == step_id), None)
    return step_id or "a step" if found is None else found.label


def _of_visit(occurrence: Occurrence, visit: Visit | None, run: Run) -> dict[str, Any]:
    """When the gate is due, how it was decided, or why the run failed."""
    gate, decided = None if visit is None else visit.gate, occurrence.type == "gate_decided"
    clock = None if occurrence.clock is None else run.clock(occurrence.clock)
    verdict = None if visit is None or not decided else visit.verdict
    giver = None if verdict is None else verdict.on_behalf_of
    failed = occurrence.type == "run_failed" and run.error is not None
    return {
        "due_at": clock.due_at if clock is not None else None if gate is None or decided else gate.due_at,
        "decision": None if verdict is None else shown(verdict.decision),
        "by": None if verdict is None else shown_as_sender(verdict.by),
        "on_behalf_of": None if giver is None else shown_as_sender(giver),
        "error": run.error.code if failed and run.error is not None else None,
    }


def _of_action(visit: Visit | None, run: Run) -> dict[str, Any]:
    """Which agent asks, and why a person is asked, in words of the service."""
    facts, doubt = run.action, visit is not None and visit.gate is not None and visit.gate.in_doubt
    why = "" if facts is None or doubt else facts.why or ""
    return {
        "agent": None if facts is None else shown(facts.agent),
        "asked_because": next((words for one, words in _ASKED_BECAUSE.items() if why.startswith(one)), None),
        "in_doubt": doubt,
    }


def _page(occurrence: Occurrence, run: Run, public_url: str) -> str:
    """The page of the open gate, or of the run."""
    page = f"{public_url}/#/runs/{run.id}"
    if occurrence.step_id is None or occurrence.type in _OF_RUNS:
        return page
    return f"{page}/gates/{quote(occurrence.step_id, safe='')}"


SLACK_HEADER_CHARS_MAX, SLACK_SECTION_CHARS_MAX = 150, 3_000
TEAMS_BYTES_MAX = 27_000
"""A channel takes 28 KB, with what is around a card."""
CARD_TYPE = "application/vnd.microsoft.card.adaptive"
CARD_SCHEMA = "http://adaptivecards.io/schemas/adaptive-card.json"
CARD_VERSION = "1.4"
WEBHOOK_TYPE = "notification"
MAIL_KIND = "notification"
_SLACK_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def slack(message: Message) -> dict[str, Any]:
    """Block Kit, with the title as the text of clients that show no blocks."""
    blocks: list[dict[str, Any]] = []
    if len(message.notices) > 1:
        title = _short(message.title, SLACK_HEADER_CHARS_MAX)
        blocks.append({"type": "header", "text": {"type": "plain_text", "text": title, "emoji": False}})
    blocks += [_slack_section(one, message) for one in message.listed]
    if message.rest is not None:
        more = f"{message.rest} {_slack_link(message.inbox_url, 'Open the inbox')}"
        blocks.append({"type": "context", "elements": [{"type": "mrkdwn", "text": more}]})
    return {"text": _escaped(message.title), "blocks": blocks, "unfurl_links": False, "unfurl_media": False}


def teams(message: Message) -> dict[str, Any]:
    """An Adaptive Card in the envelope of a workflow's webhook, as long as a channel takes it.

    Its texts are not Markdown.
    """
    found = _card_message(message)
    while len(dumps(found)) > TEAMS_BYTES_MAX and len(message.listed) > 1:
        message = replace(message, listed_max=len(message.listed) - 1)
        found = _card_message(message)
    return found


def _card_message(message: Message) -> dict[str, Any]:
    body: list[dict[str, Any]] = []
    if len(message.notices) > 1:
        body.append(_card_text((message.title, True)))
    body += [_card_item(one, message) for one in message.listed]
    if message.rest is not None:
        body.append(_card_text((message.rest, False)))
    (target, text) = (message.inbox_url, "Open the inbox")
    if len(message.notices) == 1:
        target, text = message.notices[0].url, message.notices[0].link_text
    card = {
        "$schema": CARD_SCHEMA,
        "type": "AdaptiveCard",
        "version": CARD_VERSION,
        "body": body,
        "actions": [{"type": "Action.OpenUrl", "title": text, "url": target}],
    }
    return {"type": "message", "attachments": [{"contentType": CARD_TYPE, "contentUrl": None, "content": card}]}


def webhook(message: Message) -> dict[str, Any]:
    """The payload of Standard Webhooks."""
    notices = [{**to_builtins(one), "headline": one.headline} for one in message.notices]
    return payload(WEBHOOK_TYPE, message.at, {"notifications": notices})


def mail(message: Message, to: str, company_id: str) -> Mail:
    parts = [_mail_part(one, message) for one in message.listed]
    if message.rest is not None:
        parts.append(f"{message.rest}\n{message.inbox_url}")
    page = f"{message.inbox_url}notifications"
    parts.append(f"Opening a link decides nothing.\nTo change these mails: {page}")
    return Mail(MAIL_KIND, company_id, to, message.title, "\n\n".join(parts) + "\n", message.id)


HTTP_FORMATS: Mapping[str, Callable[[Message], dict[str, Any]]] = {"slack": slack, "teams": teams, "webhook": webhook}
"""What is sent by HTTP, by kind of notification."""


def _slack_section(one: Notice, message: Message) -> dict[str, Any]:
    facts = "\n".join(f"{name}: {_escaped(value)}" for name, value in one.facts(message.zone))
    head, link = f"*{_escaped(one.headline)}*", _slack_link(one.url, one.link_text)
    room = SLACK_SECTION_CHARS_MAX - len(head) - len(link) - 2
    text = f"{head}\n{facts if len(facts) <= room else ''}\n{link}"
    return {"type": "section", "text": {"type": "mrkdwn", "text": text, "verbatim": True}}


def _slack_link(url: str, text: str) -> str:
    return f"<{_escaped(url)}|{text}>"


def _escaped(text: str) -> str:
    """A text in which Slack reads no link and no mention."""
    return text.translate(_SLACK_ESCAPES)


def _card_item(one: Notice, message: Message) -> dict[str, Any]:
    facts = "; ".join(f"{name}: {value}" for name, value in one.facts(message.zone))
    return {
        "type": "Container",
        "items": [_card_text((one.headline, True)), _card_text((facts, False))],
        "selectAction": {"type": "Action.OpenUrl", "title": one.link_text, "url": one.url},
    }


def _card_text(*runs: tuple[str, bool]) -> dict[str, Any]:
    inlines = [{"type": "TextRun", "text": text, "weight": "Bolder" if bold else "Default"} for text, bold in runs]
    return {"type": "RichTextBlock", "inlines": inlines}


def _mail_part(one: Notice, message: Message) -> str:
    facts = "\n".join(f"{name}: {value}" for name, value in one.facts(message.zone))
    return f"{one.headline}\n{facts}\n{one.link_text}: {one.url}"


def _short(text: str, chars_max: int) -> str:
    return text if len(text) <= chars_max else f"{text[: chars_max - 1]}…"
