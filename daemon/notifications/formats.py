"""Messages in the formats of their channels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import to_builtins
from msgspec.structs import replace

from daemon.mail.texts import Mail
from daemon.notifications.notices import Message, Notice
from daemon.runtime.json_codec import dumps
from daemon.webhooks.sender import payload

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
