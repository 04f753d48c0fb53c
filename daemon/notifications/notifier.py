"""Makes deliveries of the events that people are told of.

Each company with notifications has one cursor in the journal. Its events become deliveries of all
of its notifications in one transaction with the move of the cursor, so that each event is told
once, however many notifications there are, and after a crash, too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

import structlog

from actors.context import TRACE, set_log_context
from actors.core.messages import Event
from actors.core.run import Run
from actors.ports import StoreFailed
from daemon.model.chain import HistoryBroken
from daemon.model.event_log import CompanyEvent, Position
from daemon.model.webhooks import Wanted, Webhook
from daemon.notifications.audience import (
    NotificationContext,
    Occurrence,
    Situations,
    candidates,
    due_at,
    is_recipient,
    occurrence_of,
    stale,
    zone_of,
)
from daemon.runtime.background import finish, where_raised
from daemon.stores.store import Store

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
        situations: Situations,
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
        cursor = await self._store.notifier(company_id)
        if cursor is None:
            self._known.discard(company_id)
            self._seen.pop(company_id, None)
            return False
        self._known.add(company_id)
        found = await self._store.read_after(company_id, max(cursor, self._seen.get(company_id, cursor)), PAGE)
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

    async def _wanted(self, company_id: str, told: Sequence[tuple[CompanyEvent, Occurrence]]) -> list[Wanted]:
        """The deliveries of all enabled notifications of a company."""
        notifications = [one for one in await self._store.notifications_of(company_id) if one.enabled]
        situations: dict[str, NotificationContext | None] = {}
        wanted: list[Wanted] = []
        for event, occurrence in told if notifications else ():
            if event.run_id not in situations:
                situations[event.run_id] = await self._situations.of(company_id, event.run_id)
            situation = situations[event.run_id]
            if situation is not None and stale(occurrence, situation.run) is None:
                for one in notifications:
                    wanted += _deliveries(one, event, occurrence, situation, self._now())
            await asyncio.sleep(0)  # a company may have many people, and others wait for the loop
        return wanted


def _deliveries(
    notification: Webhook, event: CompanyEvent, occurrence: Occurrence, situation: NotificationContext, at: datetime
) -> Iterator[Wanted]:
    """The deliveries that a notification has of an event: of a mail to a group, one for each."""
    terms, run, company = notification.terms, situation.run, situation.setting.company
    if terms is None or occurrence.type not in (notification.events or ()) or event.position <= notification.cursor:
        return
    if terms.verticals and run.vertical not in terms.verticals:
        return
    people = (one for one in candidates(terms, company) if is_recipient(one, occurrence, run, situation.setting, at))
    next_at = due_at(terms, at, zone_of(terms, company))
    if notification.kind == "email" and terms.group is not None:
        for person in people:
            yield Wanted(notification.id, event, occurrence.type, next_at, person.member_id)
    elif any(True for _ in people):
        yield Wanted(notification.id, event, occurrence.type, next_at)
