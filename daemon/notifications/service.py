"""Creates, changes, tests and deletes notifications."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from urllib.parse import urlsplit

import msgspec

from actors.core.people import ADMIN, rank
from actors.ports import Receipt, StoreFailed
from daemon.contract.webhooks import WebhookTestResult
from daemon.identity.people import NotPermitted
from daemon.identity.tokens import Principal
from daemon.keys.vault import NOTIFICATION_TARGET, SealBroken, Vault
from daemon.model.audit_events import Logged
from daemon.model.events.company import NotificationEvent, NotificationKind, NotificationTerms
from daemon.model.reading import Sight
from daemon.model.webhooks import NOTIFICATIONS_MAX, StoredDelivery, StoredWebhook, subscription_changed
from daemon.notifications.notifier import NotificationSending, Notifier
from daemon.runtime.clock import new_id
from daemon.stores.store import Store
from daemon.webhooks.sender import ChannelTarget, new_secret, newest_secret, rotate_secret


@dataclass(frozen=True, slots=True)
class NotificationDraft:
    """What a notification is to be; without a URL a change keeps the one that is sealed."""

    kind: NotificationKind
    events: tuple[NotificationEvent, ...]
    terms: NotificationTerms
    description: str | None
    enabled: bool
    url: str | None = None


@dataclass(slots=True, eq=False)
class NotificationService:
    """The notifications of all companies: one's own, and for admins those of groups."""

    _repository: Store
    _vault: Vault
    _sending: NotificationSending
    _notifier: Notifier
    _wake: Callable[[str, str], None]
    _now: Callable[[], datetime]
    _most: int = NOTIFICATIONS_MAX
    _change: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    async def visible(self, principal: Principal) -> Sequence[StoredWebhook]:
        """One's own, and for an admin those of groups."""
        every = await self._repository.notifications_of(principal.company_id)
        return [one for one in every if _is_visible(one, principal)]

    async def one(self, principal: Principal, notification_id: str) -> StoredWebhook | None:
        """A notification; None for one that the caller may not see."""
        found = await self._repository.webhook(principal.company_id, notification_id)
        return found if found is not None and _is_visible(found, principal) else None

    async def create(
        self, principal: Principal, draft: NotificationDraft, receipt: Callable[[StoredWebhook], Receipt | None]
    ) -> tuple[StoredWebhook, str | None]:
        """Create a notification; returns it with the secret that signs it, if any does.

        NotPermitted for a group's by no admin; TooManyWebhooks at the limit.
        """
        if draft.terms.group is not None and rank(principal.role) < rank(ADMIN):
            raise NotPermitted("role", ADMIN)
        async with self._change:
            notification_id, at = new_id(), self._now()
            secret = new_secret() if draft.kind == "webhook" else None
            made = StoredWebhook(
                company_id=principal.company_id,
                id=notification_id,
                url=_host(draft.url),
                events=draft.events,
                description=draft.description,
                sealed_secret=await self._sealed(principal.company_id, notification_id, draft.url, secret),
                created_at=at,
                updated_at=at,
                updated_by=principal.email,
                enabled=draft.enabled,
                kind=draft.kind,
                terms=draft.terms,
            )
            logged = Logged(
                principal.company_id,
                subscription_changed(None, made, at, principal.email, principal.via),
                caller=principal.caller,
            )
            await self._repository.add_webhook(made, logged, receipt(made), self._most)
        self._notifier.wake(principal.company_id)
        return made, secret

    async def reveal(self, company_id: str, notification_id: str, sealed: bytes) -> str | None:
        """The secret that signs, for a repeated response."""
        kept = (await self._target(company_id, notification_id, sealed)).secret
        return None if kept is None else newest_secret(kept)

    async def change(
        self, principal: Principal, before: StoredWebhook, draft: NotificationDraft
    ) -> StoredWebhook | None:
        """Change a notification; its secret stays. None when it is gone.

        An unchanged one keeps its author.
        """
        async with self._change:
            if (now := await self.one(principal, before.id)) is None:
                return None
            before, sealed, url = now, now.sealed_secret, now.url
            target = None if draft.url is None else await self._target(*before.key, before.sealed_secret)
            if target is not None and target.url != draft.url:
                sealed, url = await self._sealed(*before.key, draft.url, target.secret), _host(draft.url)
            after = replace(
                before,
                url=url,
                events=draft.events,
                description=draft.description,
                sealed_secret=sealed,
                enabled=draft.enabled,
                reason=None,
                terms=draft.terms,
            )
            if after == before:
                return before
            after = replace(after, failures=0, updated_at=self._now(), updated_by=principal.email)
            event = subscription_changed(before, after, after.updated_at, principal.email, principal.via)
            if not await self._repository.put_webhook(
                after, Logged(principal.company_id, event, caller=principal.caller)
            ):
                return None
        self._wake(*after.key)
        return after

    async def rotate(
        self,
        principal: Principal,
        before: StoredWebhook,
        until: datetime,
        made: Callable[[StoredWebhook], Receipt | None],
    ) -> tuple[StoredWebhook, str] | None:
        """Make a new secret; the one before signs, too, until then. None where none signs."""
        async with self._change:
            if (now := await self.one(principal, before.id)) is None:
                return None
            before = now
            target, secret, at = await self._target(*before.key, before.sealed_secret), new_secret(), self._now()
            if target.secret is None:
                return None
            kept = rotate_secret(target.secret, secret, until, at)
            sealed = await self._sealed(*before.key, target.url, kept)
            after = replace(before, sealed_secret=sealed, updated_at=at, updated_by=principal.email)
            event = subscription_changed(before, after, at, principal.email, principal.via)
            await self._repository.rotate_webhook(
                after, Logged(principal.company_id, event, caller=principal.caller), made(after)
            )
        return after, secret

    async def delete(self, principal: Principal, before: StoredWebhook) -> bool:
        async with self._change:
            event = subscription_changed(before, None, self._now(), principal.email, principal.via)
            return await self._repository.delete_webhook(
                *before.key, Logged(principal.company_id, event, caller=principal.caller)
            )

    async def test(self, principal: Principal, notification: StoredWebhook) -> WebhookTestResult:
        """Send a test once and now, in quiet hours too; a group's mail to the caller alone."""
        result = await self._sending.test(notification, f"msg_test_{new_id()}", principal.member_id)
        return result.tested()

    async def deliveries(
        self, notification: StoredWebhook, before: int | None, limit: int, *, sight: Sight | None = None
    ) -> Sequence[StoredDelivery]:
        return await self._repository.deliveries(*notification.key, before, limit, sight=sight)

    async def held_until(self, notification: StoredWebhook) -> datetime | None:
        """When its quiet hours end, if it has them now."""
        return await self._sending.held_until(notification)

    async def redeliver(
        self,
        notification: StoredWebhook,
        delivery_id: str,
        receipt: Callable[[StoredDelivery], Receipt | None] = lambda _: None,
    ) -> StoredDelivery | None:
        """Send one again; None when there is no such delivery."""
        found = await self._repository.redeliver(*notification.key, delivery_id, self._now(), receipt=receipt)
        if found is not None:
            self._wake(*notification.key)
        return found

    async def _sealed(self, company_id: str, notification_id: str, url: str | None, secret: str | None) -> bytes:
        """URL and secret, sealed together; nothing for mail."""
        if url is None:
            return b""
        target = msgspec.json.encode(ChannelTarget(url, secret)).decode()
        try:
            return await self._vault.seal(company_id, notification_id, NOTIFICATION_TARGET, target)
        except SealBroken as broken:
            raise StoreFailed(f"The URL cannot be sealed: {broken}", "not_applied") from None

    async def _target(self, company_id: str, notification_id: str, sealed: bytes) -> ChannelTarget:
        if not sealed:
            return ChannelTarget("")
        try:
            target = await self._vault.open(company_id, notification_id, NOTIFICATION_TARGET, sealed)
        except SealBroken as broken:
            raise StoreFailed(f"The URL cannot be opened: {broken}", "not_applied") from None
        return msgspec.json.decode(target, type=ChannelTarget)


def _is_visible(one: StoredWebhook, principal: Principal) -> bool:
    if one.kind == "events" or one.terms is None:
        return False
    if one.terms.group is not None:
        return rank(principal.role) >= rank(ADMIN)
    return one.terms.member_id == principal.member_id


def _host(url: str | None) -> str:
    """What is shown of a URL, which is a secret: its origin."""
    if url is None:
        return ""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}/…"
