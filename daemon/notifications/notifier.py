"""Makes deliveries of the events that people are told of, and sends them through their channels.

Each company with notifications has one cursor in the journal. Its events become deliveries of all
of its notifications in one transaction with the move of the cursor, so that each event is told
once, however many notifications there are, and after a crash, too.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby, islice
from typing import NamedTuple

import structlog
from aiosmtplib import SMTPException

from actors.context import TRACE, set_log_context
from actors.core.messages import Event
from actors.core.people import Company, Person
from actors.core.run import Run
from actors.ports import CompanySource, StoreFailed
from daemon.mail.mailer import Mailer, answered_code, cause, is_final
from daemon.model.chain import HistoryBroken
from daemon.model.event_log import LoggedEvent, Position
from daemon.model.retention.records import HistoryArchived
from daemon.model.webhooks import WINDOW_MAX, StoredDelivery, StoredWebhook, Wanted
from daemon.notifications.audience import (
    NotificationContext,
    NotificationContexts,
    Occurrence,
    candidates,
    due_at,
    is_recipient,
    occurrence_of,
    quiet_until,
    why_stale,
    zone_of,
)
from daemon.notifications.messages import HTTP_FORMATS, Message, Notice, mail, notice_of, sample
from daemon.runtime.background import finish, where_raised
from daemon.stores.store import Store
from daemon.webhooks.sender import NOT_THERE, ChannelMessage, PostToChannel, Result, Sent, attempt

PAGE = 200
COMPANIES_AT_ONCE = 200
PAUSE_S = 10.0
SWEEP_S = 60.0
_log = structlog.get_logger("penstock")


class Notifier:
    """Works on a company while it has new events; otherwise keeps only its id."""

    def __init__(
        self,
        store: Store,
        situations: NotificationContexts,
        look_at: Callable[[str, str], None],
        now: Callable[[], datetime],
    ) -> None:
        """`look_at` is called with each notification that has new deliveries."""
        self._store = store
        self._situations = situations
        self._look_at = look_at
        self._now = now
        self._known: set[str] = set()
        self._requested: set[str] = set()
        self._working: dict[str, asyncio.Task[None]] = {}
        self._again: dict[str, asyncio.TimerHandle] = {}
        self._seen: dict[str, Position] = {}
        self._failovers = store.failovers
        self._draining = False

    @property
    def companies(self) -> set[str]:
        return set(self._known)

    def published(self, run: Run, events: Sequence[Event]) -> None:
        """Look at a company where people are told of what was committed."""
        if run.company_id in self._known and any(occurrence_of(one) is not None for one in events):
            self.wake(run.company_id)

    def committed(self, company_id: str) -> None:
        if company_id in self._known:
            self.wake(company_id)

    def wake(self, company_id: str) -> None:
        """Start work on a company if needed; never blocks."""
        if self._draining:
            return
        self._requested.add(company_id)
        if company_id not in self._working:
            self._working[company_id] = asyncio.get_running_loop().create_task(self._work(company_id))

    async def sweep(self) -> None:
        """Look at every company that has notifications."""
        after = ""
        try:
            while page := await self._store.notifying_companies(after, COMPANIES_AT_ONCE):
                for company_id in page:
                    self.wake(company_id)
                after = page[-1]
        except StoreFailed as failed:
            _log.error("notification_sweep_failed", reason=str(failed))

    async def drain(self, timeout_s: float) -> None:
        self._draining = True
        for timer in self._again.values():
            timer.cancel()
        self._again.clear()
        await finish(list(self._working.values()), timeout_s)

    async def _work(self, company_id: str) -> None:
        set_log_context(company_id=company_id)
        TRACE.set(None)  # it is about all that has happened, and not only what it was called for
        try:
            while company_id in self._requested and not self._draining:
                self._requested.discard(company_id)
                if await self._try_page(company_id):
                    self._requested.add(company_id)
        finally:
            del self._working[company_id]

    async def _try_page(self, company_id: str) -> bool:
        """One page of events; after a failure, pause."""
        try:
            return await self._page(company_id)
        except (StoreFailed, HistoryBroken) as failed:
            _log.error("notifications_deferred", reason=str(failed))
        except Exception as error:  # noqa: BLE001 - the top of this loop
            _log.error("notifier_crashed", error=type(error).__name__, where=where_raised(error))
        if (timer := self._again.pop(company_id, None)) is not None:
            timer.cancel()
        if not self._draining:
            self._again[company_id] = asyncio.get_running_loop().call_later(PAUSE_S, self.wake, company_id)
        return False

    async def _page(self, company_id: str) -> bool:
        """Make deliveries of the next events; returns whether there may be more."""
        failovers = self._store.failovers
        if self._failovers != failovers:
            self._failovers = failovers
            self._seen.clear()
        cursor = await self._store.notifier(company_id)
        if cursor is None:
            self._known.discard(company_id)
            self._seen.pop(company_id, None)
            return False
        self._known.add(company_id)
        found = await self._store.read_after(company_id, max(cursor, self._seen.get(company_id, cursor)), PAGE)
        if self._store.failovers != failovers:
            return True  # what was reached may be lost
        if not found:
            return False
        told = [(one, occurrence) for one in found if (occurrence := occurrence_of(one.event)) is not None]
        wanted = await self._wanted(company_id, told) if told else []
        # What nobody is told of is passed over in memory, page by page on disk.
        if wanted or len(found) == PAGE:
            await self._store.enqueue_notifications(company_id, wanted, found[-1].position, self._now())
        self._seen[company_id] = found[-1].position
        for webhook_id in {one.webhook_id for one in wanted}:
            self._look_at(company_id, webhook_id)
        return True

    async def _wanted(self, company_id: str, told: Sequence[tuple[LoggedEvent, Occurrence]]) -> list[Wanted]:
        """The deliveries of all enabled notifications of a company."""
        notifications = [one for one in await self._store.notifications_of(company_id) if one.enabled]
        situations: dict[str, NotificationContext | None] = {}
        wanted: list[Wanted] = []
        counts = Counter[str]()
        for event, occurrence in told if notifications else ():
            if event.run_id not in situations:
                situations[event.run_id] = await self._situations.load(company_id, event.run_id)
            situation = situations[event.run_id]
            if situation is not None and why_stale(occurrence, situation.run) is None:
                for one in notifications:
                    made = _deliveries(one, event, occurrence, situation, self._now())
                    some = list(islice(made, WINDOW_MAX - counts[one.id]))  # no more may be pending
                    counts[one.id] += len(some)
                    wanted += some
                    await asyncio.sleep(0)  # a company may have many people, and others wait for the loop
        return wanted


def _deliveries(
    notification: StoredWebhook,
    event: LoggedEvent,
    occurrence: Occurrence,
    situation: NotificationContext,
    at: datetime,
) -> Iterator[Wanted]:
    """The deliveries that a notification has of an event: of a mail to a group, one for each."""
    terms, run, company = notification.terms, situation.run, situation.setting.company
    if terms is None or occurrence.type not in (notification.events or ()) or event.position <= notification.cursor:
        return
    if terms.verticals and run.vertical not in terms.verticals:
        return
    known = candidates(terms, company)
    if not _may_tell(notification, known, situation):
        return
    people = (
        one for one in known if situation.reads(one) and is_recipient(one, occurrence, run, situation.setting, at)
    )
    next_at = due_at(terms, at, zone_of(terms, company))
    if notification.kind == "email" and terms.group is not None:
        for person in people:
            yield Wanted(notification.id, event, occurrence.type, next_at, person.member_id)
    elif any(True for _ in people):
        yield Wanted(notification.id, event, occurrence.type, next_at)


def _may_tell(notification: StoredWebhook, members: Sequence[Person], situation: NotificationContext) -> bool:
    """Whether who reads a channel may read the run: all of the group, and who said where it is."""
    said_by = situation.setting.company.person(notification.updated_by)
    return notification.kind == "email" or all(map(situation.reads, (*members, said_by)))


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
    _situations: NotificationContexts
    _companies: CompanySource
    _channels: Channels
    _now: Callable[[], datetime]
    _count: Count | None = None

    async def held_until(self, webhook: StoredWebhook) -> datetime | None:
        if webhook.terms is None:
            return None
        company = await self._companies.load(webhook.company_id)
        return quiet_until(webhook.terms, self._now(), zone_of(webhook.terms, company))

    async def batches(
        self, webhook: StoredWebhook, due: Sequence[StoredDelivery]
    ) -> Sequence[Sequence[StoredDelivery]]:
        """Each alone, or with a digest all for one recipient."""
        if webhook.terms is None or webhook.terms.digest is None:
            return [(one,) for one in due]
        ordered = sorted(due, key=lambda one: (one.recipient or "", one.number))
        return [list(some) for _, some in groupby(ordered, lambda one: one.recipient)]

    async def send(self, webhook: StoredWebhook, batch: Sequence[StoredDelivery]) -> Sent:
        company = await self._companies.load(webhook.company_id)
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

    async def test(self, webhook: StoredWebhook, message_id: str, member_id: str) -> Result:
        """Send a test once and now; a mail to a group goes to that member alone."""
        company = await self._companies.load(webhook.company_id)
        message = self._message(webhook, company, message_id, [sample(self._channels.public_url)])
        return await self._sent(webhook, message, member_id)

    async def _notice(self, webhook: StoredWebhook, delivery: StoredDelivery) -> Notice | str:
        """What a delivery says, or why it need not be said."""
        try:
            recorded = await self._runs.history(delivery.company_id, delivery.run_id, delivery.seq - 1, 1)
        except HistoryArchived:
            return NOT_THERE
        situation = await self._situations.load(delivery.company_id, delivery.run_id)
        occurrence = occurrence_of(recorded[0].event) if recorded else None
        if situation is None or occurrence is None or webhook.terms is None:
            return NOT_THERE
        repeated = delivery.attempts > 0 and delivery.tries == 0  # somebody asked for it
        why = why_stale(occurrence, situation.run)
        if why is not None and not repeated:
            return why
        found = list(candidates(webhook.terms, situation.setting.company))
        if not _may_tell(webhook, found, situation):
            return NOT_CONCERNED
        found = [one for one in found if situation.reads(one)]
        people, at = [one for one in found if delivery.recipient in (None, one.member_id)], self._now()
        if not people:
            return NOBODY_THERE
        told = any(is_recipient(one, occurrence, situation.run, situation.setting, at) for one in people)
        return notice_of(occurrence, situation, self._channels.public_url) if told or repeated else NOT_CONCERNED

    def _message(self, webhook: StoredWebhook, company: Company, name: str, notices: Sequence[Notice]) -> Message:
        zone = company.calendar.zone if webhook.terms is None else zone_of(webhook.terms, company)
        inbox = f"{self._channels.public_url}/#/"
        return Message(id=name, at=self._now(), zone=zone, notices=notices, inbox_url=inbox)

    async def _sent(self, webhook: StoredWebhook, message: Message, recipient: str | None) -> Result:
        if webhook.kind == "email":
            return await self._mailed(webhook, message, recipient)
        body = HTTP_FORMATS[webhook.kind](message)
        channel = ChannelMessage(webhook.company_id, webhook.id, webhook.sealed_secret, message.id, body)
        result = await attempt(self._channels.post(channel), webhook.id)
        chat_refuses = webhook.kind in CHATS and result.status_code in REFUSED
        return replace(result, final=True) if chat_refuses else result

    async def _mailed(self, webhook: StoredWebhook, message: Message, recipient: str | None) -> Result:
        own = None if webhook.terms is None else webhook.terms.member_id
        member_id = own or recipient
        person = (await self._companies.load(webhook.company_id)).member(member_id or "")
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

    def _counted(self, webhook: StoredWebhook, result: str, number: int) -> None:
        if self._count is not None and number:
            self._count(webhook.kind, result, number)


def _since(begun: float) -> int:
    return round((time.monotonic() - begun) * _MS)
