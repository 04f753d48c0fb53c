"""Sends notifications through their channels: what still stands, outside of quiet hours."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from typing import NamedTuple

from aiosmtplib import SMTPException

from actors.core.people.company import Company
from actors.ports import Companies
from daemon.mail.mailer import Mailer, answered_code, cause, is_final
from daemon.model.retention.records import HistoryArchived
from daemon.model.webhooks import Delivery, Webhook
from daemon.notifications.audience import (
    Situations,
    candidates,
    is_recipient,
    occurrence_of,
    quiet_until,
    stale,
    zone_of,
)
from daemon.notifications.messages import HTTP_FORMATS, Message, Notice, mail, notice_of, sample
from daemon.stores.store import Store
from daemon.webhooks.sender import NOT_THERE, ChannelMessage, PostToChannel, Result, Sent, attempt

NO_MAIL = "This service sends no mail."
NOBODY_THERE = "The member has left the company."
NOT_CONCERNED = "It concerns nobody here any more."
_MS = 1_000
CHATS, REFUSED = frozenset({"slack", "teams"}), frozenset({400, 401, 403, 404, 405, 413})
"""What a chat answers to a message or an address that it will never take."""
OK = 250
"""What a mail server answers when it takes a mail."""
Count = Callable[[str, str, int], None]


class Channels(NamedTuple):
    """The ways out: HTTP, and mail where the service has a server for it."""

    post: PostToChannel
    mailer: Mailer | None
    public_url: str


@dataclass(frozen=True, slots=True)
class NotificationSending:
    """Sends deliveries of notifications; `_count` takes kind, result and how many."""

    _runs: Store
    _situations: Situations
    _companies: Companies
    _channels: Channels
    _now: Callable[[], datetime]
    _count: Count | None = None

    async def held_until(self, webhook: Webhook) -> datetime | None:
        if webhook.terms is None:
            return None
        company = await self._companies.of(webhook.company_id)
        return quiet_until(webhook.terms, self._now(), zone_of(webhook.terms, company))

    def batches(self, webhook: Webhook, due: Sequence[Delivery]) -> Sequence[Sequence[Delivery]]:
        """Each alone, or with a digest all for one recipient."""
        if webhook.terms is None or webhook.terms.digest is None:
            return [(one,) for one in due]
        ordered = sorted(due, key=lambda one: (one.recipient or "", one.number))
        return [list(some) for _, some in groupby(ordered, lambda one: one.recipient)]

    async def send(self, webhook: Webhook, batch: Sequence[Delivery]) -> Sent:
        company = await self._companies.of(webhook.company_id)
        notices: list[Notice] = []
        skipped: dict[str, str] = {}
        for delivery in batch:
            found = await self._notice(webhook, delivery)
            if isinstance(found, Notice):
                notices.append(found)
            else:
                skipped[delivery.id] = found
        self._counted(webhook, "skipped", len(skipped))
        if not notices:
            return Sent(None, skipped)
        first = next(one for one in batch if one.id not in skipped)
        result = await self._sent(webhook, self._message(webhook, company, first.id, notices), first.recipient)
        self._counted(webhook, "sent" if result.ok else "failed", 1)
        return Sent(result, skipped)

    async def test(self, webhook: Webhook, message_id: str, member_id: str) -> Result:
        """Send a test once and now; a mail to a group goes to that member alone."""
        company = await self._companies.of(webhook.company_id)
        message = self._message(webhook, company, message_id, [sample(self._channels.public_url)])
        return await self._sent(webhook, message, member_id)

    async def _notice(self, webhook: Webhook, delivery: Delivery) -> Notice | str:
        """What a delivery says, or why it need not be said."""
        try:
            recorded = await self._runs.history(delivery.company_id, delivery.run_id, delivery.seq - 1, 1)
        except HistoryArchived:
            return NOT_THERE
        situation = await self._situations.of(delivery.company_id, delivery.run_id)
        occurrence = occurrence_of(recorded[0].event) if recorded else None
        if situation is None or occurrence is None or webhook.terms is None:
            return NOT_THERE
        repeated = delivery.attempts > 0 and delivery.tries == 0  # somebody asked for it
        why = stale(occurrence, situation.run)
        if why is not None and not repeated:
            return why
        found = candidates(webhook.terms, situation.setting.company)
        people, at = [one for one in found if delivery.recipient in (None, one.member_id)], self._now()
        if not people:
            return NOBODY_THERE
        told = any(is_recipient(one, occurrence, situation.run, situation.setting, at) for one in people)
        return notice_of(occurrence, situation, self._channels.public_url) if told or repeated else NOT_CONCERNED

    def _message(self, webhook: Webhook, company: Company, name: str, notices: Sequence[Notice]) -> Message:
        zone = company.calendar.zone if webhook.terms is None else zone_of(webhook.terms, company)
        inbox = f"{self._channels.public_url}/#/"
        return Message(id=name, at=self._now(), zone=zone, notices=notices, inbox_url=inbox)

    async def _sent(self, webhook: Webhook, message: Message, recipient: str | None) -> Result:
        if webhook.kind == "email":
            return await self._mailed(webhook, message, recipient)
        body = HTTP_FORMATS[webhook.kind](message)
        channel = ChannelMessage(webhook.company_id, webhook.id, webhook.sealed_secret, message.id, body)
        result = await attempt(self._channels.post(channel), webhook.id)
        chat_refuses = webhook.kind in CHATS and result.status_code in REFUSED
        return replace(result, final=True) if chat_refuses else result

    async def _mailed(self, webhook: Webhook, message: Message, recipient: str | None) -> Result:
        own = None if webhook.terms is None else webhook.terms.member_id
        member_id = own or recipient
        person = (await self._companies.of(webhook.company_id)).member(member_id or "")
        if person is None:
            return Result(None, None, NOBODY_THERE, final=True)
        if self._channels.mailer is None:
            return Result(None, None, NO_MAIL)
        begun = time.monotonic()
        try:
            await self._channels.mailer.send(mail(message, person.email, webhook.company_id))
        except (SMTPException, OSError, ValueError) as error:
            code = answered_code(error)
            return Result(code or None, _since(begun), cause(error), final=is_final(error))
        return Result(OK, _since(begun))

    def _counted(self, webhook: Webhook, result: str, number: int) -> None:
        if self._count is not None and number:
            self._count(webhook.kind, result, number)


def _since(begun: float) -> int:
    return round((time.monotonic() - begun) * _MS)
