"""Creates, changes, tests and deletes webhooks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import takewhile
from urllib.parse import unquote

from actors.ports import Receipt, StoreFailed
from daemon.contract.webhooks import WebhookTestResult
from daemon.identity.tokens import Principal
from daemon.keys.vault import WEBHOOK_SECRET, SealBroken, Vault
from daemon.model.audit_events import Logged
from daemon.model.chain import HistoryBroken
from daemon.model.event_log import Position
from daemon.model.reading import Sight
from daemon.model.webhooks import (
    PAGE_MAX,
    TEST_TYPE,
    WEBHOOKS_MAX,
    StoredDelivery,
    StoredWebhook,
    WebhookDraft,
    subscription_changed,
)
from daemon.runtime.clock import new_id
from daemon.stores.store import Store
from daemon.webhooks.sender import (
    MARK,
    Notify,
    attempt,
    message_of,
    new_secret,
    newest_secret,
    open_url,
    payload,
    rotate_secret,
    seal_url,
    shown_url,
)


@dataclass(slots=True, eq=False)
class WebhookService:
    """The webhooks of all companies; `wake` receives the key of one that may have work."""

    _repository: Store
    _vault: Vault
    _notify: Notify
    _wake: Callable[[str, str], None]
    _now: Callable[[], datetime]
    _most: int = WEBHOOKS_MAX
    _change: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    async def all(self, company_id: str) -> Sequence[StoredWebhook]:
        return await self._repository.webhooks_of(company_id)

    async def one(self, company_id: str, webhook_id: str) -> StoredWebhook | None:
        """A webhook; None for a notification, which is kept with them."""
        found = await self._repository.webhook(company_id, webhook_id)
        return found if found is not None and found.kind == "events" else None

    async def create(
        self, wanted: WebhookDraft, made: Callable[[StoredWebhook], Receipt | None]
    ) -> tuple[StoredWebhook, str]:
        """Create a webhook; returns it with its secret; TooManyWebhooks at the limit."""
        async with self._change:
            webhook_id, secret, at = new_id(), new_secret(), self._now()
            webhook = StoredWebhook(
                company_id=wanted.company_id,
                id=webhook_id,
                url=await self._kept_url(wanted.company_id, webhook_id, wanted.url),
                events=wanted.events,
                description=wanted.description,
                sealed_secret=await self._sealed(wanted.company_id, webhook_id, secret),
                created_at=at,
                updated_at=at,
                updated_by=wanted.by,
            )
            logged = Logged(
                wanted.company_id,
                subscription_changed(None, webhook, at, wanted.by, wanted.via, kind=wanted.by_kind),
                caller=wanted.caller,
            )
            await self._repository.add_webhook(webhook, logged, made(webhook), self._most)
        self._wake(*webhook.key)
        return webhook, secret

    async def reveal(self, company_id: str, webhook_id: str, sealed: bytes) -> str:
        """The secret of a webhook, for a repeated response."""
        try:
            return newest_secret(await self._vault.open(company_id, webhook_id, WEBHOOK_SECRET, sealed))
        except SealBroken as broken:
            raise StoreFailed(f"The secret cannot be opened: {broken}", "not_applied") from None

    async def change(self, wanted: WebhookDraft, webhook_id: str) -> StoredWebhook | None:
        """Change a webhook and enable it; None when there is none.

        An unchanged one keeps its author, and a URL as it is shown keeps the one that is sealed.
        """
        async with self._change:
            before = await self.one(wanted.company_id, webhook_id)
            if before is None:
                return None
            after = replace(
                before,
                url=await self._next_url(before, wanted.url),
                events=wanted.events,
                description=wanted.description,
                enabled=True,
                reason=None,
            )
            if after == before:
                return before
            if after.events != before.events:
                after = replace(after, cursor=await self._passed_over(before))
            after = replace(after, failures=0, updated_at=self._now(), updated_by=wanted.by)
            event = subscription_changed(before, after, after.updated_at, wanted.by, wanted.via, kind=wanted.by_kind)
            await self._repository.put_webhook(after, Logged(wanted.company_id, event, caller=wanted.caller))
        self._wake(*after.key)
        return after

    async def rotate(
        self, principal: Principal, webhook_id: str, until: datetime, made: Callable[[StoredWebhook], Receipt | None]
    ) -> tuple[StoredWebhook, str] | None:
        """Make a new secret; the one before signs, too, until then. None without webhook."""
        async with self._change:
            before = await self.one(principal.company_id, webhook_id)
            if before is None:
                return None
            secret, at = new_secret(), self._now()
            try:
                kept = await self._vault.open(*before.key, WEBHOOK_SECRET, before.sealed_secret)
            except SealBroken:
                kept = ""  # nothing can be signed with it any more
            sealed = await self._sealed(*before.key, rotate_secret(kept, secret, until, at) if kept else secret)
            after = replace(before, sealed_secret=sealed, updated_at=at, updated_by=principal.email)
            event = subscription_changed(before, after, at, principal.email, principal.via, kind=principal.kind)
            await self._repository.rotate_webhook(
                after, Logged(principal.company_id, event, caller=principal.caller), made(after)
            )
        self._wake(*after.key)
        return after, secret

    async def delete(self, principal: Principal, webhook_id: str) -> bool:
        async with self._change:
            before = await self.one(principal.company_id, webhook_id)
            if before is None:
                return False
            event = subscription_changed(before, None, self._now(), principal.email, principal.via, kind=principal.kind)
            logged = Logged(principal.company_id, event, caller=principal.caller)
            return await self._repository.delete_webhook(*before.key, logged)

    async def test(self, company_id: str, webhook_id: str) -> WebhookTestResult | None:
        """Send a signed test message once; None when there is no such webhook."""
        webhook = await self.one(company_id, webhook_id)
        if webhook is None:
            return None
        body = payload(TEST_TYPE, self._now(), {"webhook_id": webhook_id})
        result = await attempt(self._notify(message_of(webhook, f"msg_test_{new_id()}", body)), webhook_id)
        return result.tested()

    async def deliveries(
        self, company_id: str, webhook_id: str, before: int | None, limit: int, *, sight: Sight | None = None
    ) -> Sequence[StoredDelivery] | None:
        """The deliveries of a webhook, newest first; None when there is no such webhook."""
        if await self.one(company_id, webhook_id) is None:
            return None
        return await self._repository.deliveries(company_id, webhook_id, before, limit, sight=sight)

    async def redeliver(
        self,
        company_id: str,
        webhook_id: str,
        delivery_id: str,
        receipt: Callable[[StoredDelivery], Receipt | None] = lambda _: None,
    ) -> StoredDelivery | None:
        """Deliver an event again; None when there is no such delivery."""
        if await self.one(company_id, webhook_id) is None:
            return None
        at = self._now()
        found = await self._repository.redeliver(company_id, webhook_id, delivery_id, at, receipt=receipt)
        if found is not None:
            self._wake(company_id, webhook_id)
        return found

    async def _passed_over(self, before: StoredWebhook) -> Position:
        """The end of what the webhook does not want, before other events are wanted."""
        try:
            found = await self._repository.read_after(before.company_id, before.cursor, PAGE_MAX)
        except HistoryBroken:  # its round says so
            return before.cursor
        return max((one.position for one in takewhile(lambda one: not before.wants(one), found)), default=before.cursor)

    async def _sealed(self, company_id: str, webhook_id: str, secret: str) -> bytes:
        try:
            return await self._vault.seal(company_id, webhook_id, WEBHOOK_SECRET, secret)
        except SealBroken as broken:
            raise StoreFailed(f"The secret cannot be sealed: {broken}", "not_applied") from None

    async def _kept_url(self, company_id: str, webhook_id: str, url: str) -> str:
        try:
            return await seal_url(self._vault, company_id, webhook_id, url)
        except SealBroken as broken:
            raise StoreFailed(f"The URL cannot be sealed: {broken}", "not_applied") from None

    async def _next_url(self, before: StoredWebhook, url: str) -> str:
        """What is kept of a URL: the same while it is the same, or is what is shown of it."""
        try:
            whole = await open_url(self._vault, *before.key, before.url)
        except SealBroken:
            return await self._kept_url(*before.key, url)
        wanted = whole if unquote(url) == shown_url(before.url) else url
        # One that an earlier version kept plainly is sealed with its next change.
        same = wanted == whole and (MARK in before.url or shown_url(whole) == whole)
        return before.url if same else await self._kept_url(*before.key, wanted)
