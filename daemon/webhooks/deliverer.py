"""Delivers committed events to webhooks until they respond or are given up.

Each webhook has a cursor in the journal. New events become deliveries in one transaction with the
move of the cursor, so that none is lost. The deliveries of notifications are made by the notifier.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

import structlog

from actors.context import TRACE, set_log_context
from actors.ports import INLINE, Compute, StoreFailed
from daemon.model.audit_events import Logged
from daemon.model.chain import HistoryBroken
from daemon.model.event_log import LoggedEvent, Position
from daemon.model.webhooks import (
    PAGE_MAX,
    WINDOW_MAX,
    DeliveryQueue,
    EndedAttempt,
    StoredDelivery,
    StoredWebhook,
    subscription_disabled,
)
from daemon.runtime.background import finish, where_raised
from daemon.runtime.fairness import FairSemaphore
from daemon.stores.store import Store
from daemon.webhooks.sender import (
    GONE,
    Choose,
    EventSending,
    IsClosed,
    Notify,
    Sending,
    pauses_of,
    record_attempt,
    record_skip,
)

Key = tuple[str, str]
REASON_GONE = "The receiver answered 410: it wants no more."
_log = structlog.get_logger("penstock")


FRESH_S = 0.25
TURNS = 4
"""How often each attempt that is under way at once is followed by another in a round."""


@dataclass(frozen=True, slots=True)
class DeliveryLimits:
    """`attempts_first` of a webhook are under way at once.

    After a round in which all were answered with 2xx within `quick_ms` it is twice as many.
    """

    attempts_max: int = 128
    attempts_per_webhook_max: int = 64
    attempts_first: int = 4
    quick_ms: int = 500
    round_max: int = 256
    window_max: int = WINDOW_MAX
    page_max: int = PAGE_MAX
    sweep_interval_s: float = 60.0
    pause_s: float = 10.0


@dataclass(slots=True)
class _Current:
    """A webhook as it was read last."""

    webhook: StoredWebhook
    read_at: float
    quick: bool = True


async def _known() -> None:
    """One daemon alone knows all changes."""


class Deliverer:
    """Works on a webhook while it has something to deliver; otherwise keeps only its key."""

    fresh: Callable[[], Awaitable[None]] = staticmethod(_known)
    """Has this daemon know all that others have answered, such as who may be told of a run."""

    def __init__(
        self,
        store: Store,
        notify: Notify,
        now: Callable[[], datetime],
        limits: DeliveryLimits = DeliveryLimits(),
        compute: Compute = INLINE,
        *,
        notifications: Sending | None = None,
        aap: Sending | None = None,
        chosen: Choose | None = None,
        is_closed: IsClosed | None = None,
    ) -> None:
        """`compute` makes the bodies of large events."""
        guard = {} if is_closed is None else {"is_closed": is_closed}
        self._events = EventSending(store, notify, compute, **guard)
        self._notifications, self._aap, self._chosen = notifications, aap, chosen
        self._store = store
        self._now = now
        self._limits = limits
        self.sweep_interval_s = limits.sweep_interval_s
        self._slots = FairSemaphore(limits.attempts_max)
        self._known: dict[str, set[str]] = {}
        self._requested: set[Key] = set()
        self._working: dict[Key, asyncio.Task[None]] = {}
        self._timers: dict[Key, asyncio.TimerHandle] = {}
        self._seen: dict[Key, Position] = {}
        self._failovers = store.failovers
        self._unsaved: dict[Key, list[EndedAttempt]] = {}
        self._saving: set[Key] = set()
        self._at_once: dict[Key, int] = {}
        self._draining = False

    @property
    def companies(self) -> set[str]:
        return set(self._known)

    def committed(self, company_id: str) -> None:
        for webhook_id in self._known.get(company_id, ()):
            self.wake(company_id, webhook_id)

    def wake(self, company_id: str, webhook_id: str) -> None:
        """Start work on a webhook if needed; never blocks."""
        key = (company_id, webhook_id)
        if self._draining:
            return
        self._requested.add(key)
        if key not in self._working:
            self._working[key] = asyncio.get_running_loop().create_task(self._work(key))

    async def sweep_all(self) -> None:
        try:
            await self.sweep()
        except StoreFailed as failed:
            _log.error("webhook_sweep_failed", reason=str(failed))

    async def sweep(self) -> None:
        """Look at every enabled webhook, one read at a time."""
        after = ("", "")
        while page := await self._store.enabled_webhooks(after, self._limits.page_max):
            for key in page:
                if not self._draining and key not in self._working and await self._wants_work(key):
                    self.wake(*key)
            after = page[-1]

    async def _wants_work(self, key: Key) -> bool:
        """Whether a webhook has due deliveries or new events; serves it from now on."""
        queue = await self._queue(key, 1)
        if queue is None:
            return False
        if queue.due or key in self._unsaved:
            return True
        self._schedule_next(key, queue)
        if not queue.webhook.follows or queue.pending >= self._limits.window_max:
            return False
        try:
            return bool(await self._store.read_after(key[0], self._reached(queue.webhook), 1))
        except HistoryBroken:  # its round says so, and holds up no other webhook
            return True

    async def _queue(self, key: Key, limit: int) -> DeliveryQueue | None:
        """The queue of an enabled webhook, known from now on; any other is forgotten."""
        queue = await self._store.webhook_queue(*key, self._now(), limit)
        if queue is None or not queue.webhook.enabled:
            self._forget(key)
            return None
        self._known.setdefault(key[0], set()).add(key[1])
        return queue

    def _reached(self, webhook: StoredWebhook) -> Position:
        """The position up to which events became deliveries or were skipped."""
        return max(webhook.cursor, self._seen.get(webhook.key, webhook.cursor))

    async def tell_now(self, timeout_s: float) -> None:
        """Look at all webhooks that are served here, and wait for that."""
        for company_id in self.companies:
            self.committed(company_id)
        if self._working:
            await asyncio.wait(list(self._working.values()), timeout=timeout_s)

    async def drain(self, timeout_s: float) -> None:
        """Start no more attempts, and wait for those running; the rest follows a restart."""
        self._draining = True
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        await finish(list(self._working.values()), timeout_s)

    async def _work(self, key: Key) -> None:
        set_log_context(company_id=key[0])
        TRACE.set(None)  # it is about all that has happened, and not only what it was called for
        try:
            while key in self._requested and not self._draining:
                self._requested.discard(key)
                if await self._try_round(key):
                    self._requested.add(key)
        finally:
            del self._working[key]

    async def _try_round(self, key: Key) -> bool:
        """One round, after storing earlier results; after a failure, pause."""
        try:
            await self._save(key)
            return await self._round(key)
        except StoreFailed as failed:
            _log.error("webhook_deferred", webhook_id=key[1], reason=str(failed))
            self._schedule(key, self._limits.pause_s)
        except Exception as error:  # noqa: BLE001 - the top of this loop
            _log.error("webhook_crashed", webhook_id=key[1], error=type(error).__name__, where=where_raised(error))
            self._schedule(key, self._limits.sweep_interval_s)
        return False

    async def _round(self, key: Key) -> bool:
        """Send what is due, and enqueue new events; returns whether there may be more to do."""
        failovers = self._store.failovers
        if self._failovers != failovers:
            self._failovers = failovers
            self._seen.clear()
            self._events.forget()
        at_once = self._at_once.get(key, self._limits.attempts_first)
        queue = await self._queue(key, min(TURNS * at_once, self._limits.round_max))
        if queue is None:
            return False
        sending = self._sending(queue.webhook)
        held_until = await sending.held_until(queue.webhook) if queue.due else None
        if held_until is not None or not queue.due:
            filled = await self._filled(queue, failovers)
            if held_until is not None:
                self._schedule(key, (held_until - self._now()).total_seconds())
            elif not filled:
                self._schedule_next(key, queue)
            return filled and held_until is None
        due = queue.due if queue.webhook.terms is None else await self._all_due(queue)
        batches = await sending.batches(queue.webhook, due)
        # What comes next becomes deliveries meanwhile.
        both = self._send_all(sending, queue.webhook, batches), self._filled(queue, failovers)
        for ended in await asyncio.gather(*both, return_exceptions=True):
            if isinstance(ended, BaseException):
                raise ended
        return True

    async def _send_all(
        self, sending: Sending, webhook: StoredWebhook, batches: Sequence[Sequence[StoredDelivery]]
    ) -> None:
        """Send messages, some at once, until one fails."""
        limits, key = self._limits, webhook.key
        at_once = self._at_once.pop(key, limits.attempts_first)
        # A receiver that is unwell gets one at a time, and so takes little of what all share.
        waiting = deque(batches[:1] if webhook.failures else batches)
        current = _Current(webhook, asyncio.get_running_loop().time())

        async def work() -> None:
            while waiting:
                try:
                    goes_on = await self._deliver(sending, current, waiting.popleft())
                except StoreFailed:
                    waiting.clear()
                    raise
                if not goes_on:
                    waiting.clear()

        done = await asyncio.gather(*(work() for _ in batches[:at_once]), return_exceptions=True)
        for error in filter(None, done):
            raise error
        if webhook.kind == "events" and not webhook.failures and current.quick:
            more = 2 if len(batches) >= at_once else 1
            self._at_once[key] = min(more * at_once, limits.attempts_per_webhook_max)

    def _sending(self, webhook: StoredWebhook) -> Sending:
        """What sends the deliveries of a webhook, or of a notification."""
        if webhook.kind == "aap" and self._aap is not None:
            return self._aap
        return self._events if webhook.kind == "events" or self._notifications is None else self._notifications

    async def _all_due(self, queue: DeliveryQueue) -> Sequence[StoredDelivery]:
        """All due deliveries of a notification with digests, which go into one message."""
        webhook = queue.webhook
        if webhook.terms is None or webhook.terms.digest is None:
            return queue.due
        whole = await self._store.webhook_queue(*webhook.key, self._now(), self._limits.window_max)
        return () if whole is None else whole.due

    async def _filled(self, queue: DeliveryQueue, failovers: int) -> bool:
        """Make deliveries of new events up to the window; returns whether there were any."""
        webhook, room = queue.webhook, self._limits.window_max - queue.pending
        if not webhook.follows:
            return False
        reached = self._reached(webhook)
        found = await self._store.read_after(webhook.company_id, reached, self._limits.page_max) if room > 0 else ()
        if self._store.failovers != failovers:
            return True  # what was reached may be lost
        if not found:
            return False
        wanted: Sequence[LoggedEvent] = [one for one in found if webhook.wants(one)]
        if webhook.kind == "aap" and self._chosen is not None:
            wanted = await self._chosen(webhook, wanted)
        reached = found[-1].position if len(wanted) <= room else wanted[room - 1].position
        # What nobody wants is passed over in memory, page by page on disk.
        if wanted or len(found) == self._limits.page_max:
            await self._store.enqueue(webhook, wanted[:room], reached, self._now())
        self._seen[webhook.key] = reached
        return True

    async def _deliver(self, sending: Sending, current: _Current, batch: Sequence[StoredDelivery]) -> bool:
        """Send one message if the webhook still wants it; whether the next may follow."""
        key = current.webhook.key
        async with self._slots.hold(key[0]) as waited:
            await self.fresh()
            if self._draining or not await self._refreshed(current, waited=waited):
                return False
            sent = await sending.send(current.webhook, batch)
            at = self._now()
            left = [(one, record_skip(one, sent.skipped[one.id], at)) for one in batch if one.id in sent.skipped]
            ended: list[EndedAttempt] = [(left, at, None)] if left else []
            if sent.result is not None:
                result = sent.result
                current.quick &= result.ok and (result.latency_ms or 0) <= self._limits.quick_ms
                gone = await self._gone(current.webhook, at) if result.status_code == GONE else None
                pauses_s = pauses_of(current.webhook.kind)
                done = [(one, record_attempt(one, result, at, pauses_s)) for one in batch if one.id not in sent.skipped]
                ended.append((done, at, gone))
        self._unsaved.setdefault(key, []).extend(ended)
        await self._save(key)
        return sent.result is None or sent.result.ok

    async def _refreshed(self, current: _Current, *, waited: bool) -> bool:
        """Whether the webhook is still enabled, as it is now: a turn may have come long after."""
        began = asyncio.get_running_loop().time()
        if waited or began - current.read_at > FRESH_S:
            now = await self._store.webhook(*current.webhook.key)
            if now is None or not now.enabled:
                return False
            current.webhook, current.read_at = now, began
        return True

    async def _save(self, key: Key) -> None:
        """Store how attempts ended; those that end meanwhile follow together."""
        if key in self._saving:
            return
        self._saving.add(key)
        try:
            while unsaved := self._unsaved.get(key):
                some = unsaved[: self._limits.round_max]
                await self._store.settle_deliveries(*some)
                del unsaved[: len(some)]
        finally:
            self._saving.discard(key)
        self._unsaved.pop(key, None)

    async def _gone(self, asked: StoredWebhook, at: datetime) -> tuple[str, Logged] | None:
        """Reason and log event for disabling the webhook; none if its URL was changed meanwhile."""
        webhook = await self._store.webhook(*asked.key)
        if webhook is None or not webhook.enabled or webhook.url != asked.url or webhook.kind == "aap":
            return None
        _log.warning("webhook_disabled", webhook_id=webhook.id, reason=REASON_GONE)
        return REASON_GONE, Logged(webhook.company_id, subscription_disabled(webhook, REASON_GONE, at))

    def _schedule_next(self, key: Key, queue: DeliveryQueue) -> None:
        if queue.next_at is not None:
            self._schedule(key, (queue.next_at - self._now()).total_seconds())

    def _schedule(self, key: Key, pause_s: float) -> None:
        if (timer := self._timers.pop(key, None)) is not None:
            timer.cancel()
        if not self._draining:
            self._timers[key] = asyncio.get_running_loop().call_later(max(0.0, pause_s), self._due, key)

    def _due(self, key: Key) -> None:
        del self._timers[key]
        self.wake(*key)

    def _forget(self, key: Key) -> None:
        company_id, webhook_id = key
        self._seen.pop(key, None)
        self._at_once.pop(key, None)
        if (timer := self._timers.pop(key, None)) is not None:
            timer.cancel()
        known = self._known.get(company_id, set())
        known.discard(webhook_id)
        if not known:
            self._known.pop(company_id, None)
