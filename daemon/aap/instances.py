"""Instances of the protocol: agents' keys, perhaps with a place that is told of decisions."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

from actors.core.messages import kept_kind
from actors.core.people import ByKind
from actors.ports import Receipt, StoreFailed
from daemon.aap.sending import EVENTS, TIMEOUT_S
from daemon.aap.shapes import Destination, stamp
from daemon.contract.accounts import ApiKeyDefinition
from daemon.identity.api_keys import ApiKeys
from daemon.identity.tokens import Principal
from daemon.keys.vault import WEBHOOK_SECRET, SealBroken, Vault
from daemon.model.actions import StoredInstance
from daemon.model.audit_events import InstanceChanged, InstanceForm, Logged
from daemon.model.chain import digest
from daemon.model.people.credentials import AddedKey, StoredApiKey
from daemon.model.webhooks import StoredWebhook, WebhookReplaced, subscription_changed
from daemon.runtime.clock import new_id
from daemon.stores.store import Store
from daemon.webhooks.sender import Notify, WebhookMessage, attempt, open_url, seal_url

VERIFIES_S = 12.0
OK = 200


class ChallengeFailed(Exception):
    """The receiver did not answer as one that wants these messages."""


class Made(NamedTuple):
    """A new instance, its credential, and that credential sealed."""

    instance: StoredInstance
    key: StoredApiKey
    secret: str


class InstanceChange(NamedTuple):
    """What is changed of an instance; `delivery` only where it `delivers` otherwise."""

    name: str | None
    delivery: Destination | None
    delivers: bool


Sealed = Callable[[StoredInstance, StoredApiKey, bytes], Receipt]


class Instances:
    """Makes, changes and deletes instances."""

    def __init__(
        self,
        store: Store,
        vault: Vault,
        api_keys: ApiKeys,
        *,
        notify: Notify,
        wake: Callable[[str, str], None],
        now: Callable[[], datetime],
    ) -> None:
        self._store, self._vault, self._api_keys = store, vault, api_keys
        self._notify, self._wake, self._now = notify, wake, now
        self._change = asyncio.Lock()

    async def one(self, company_id: str, instance_id: str) -> StoredInstance | None:
        """The instance, perhaps a deleted one."""
        return await self._store.instance(company_id, instance_id)

    async def url(self, company_id: str, instance_id: str, kept: str | None) -> str | None:
        """Where it is told of decisions, of what is kept of that."""
        if kept is None:
            return None
        try:
            return await open_url(self._vault, company_id, instance_id, kept)
        except SealBroken as broken:
            raise StoreFailed(f"The URL cannot be opened: {broken}", "not_applied") from None

    async def create(
        self, principal: Principal, name: str | None, delivery: Destination | None, receipt: Sealed
    ) -> Made:
        """Make an instance; ChallengeFailed, KeyNameTaken or TooManyApiKeys where it is refused."""
        instance_id, at = new_id(), self._now()
        wanted = ApiKeyDefinition(name=name or f"instance-{instance_id[-12:]}", role="member", kind="agent")
        webhook = None if delivery is None else await self._verified(principal, instance_id, delivery, at)
        key, secret, sealed, logged = await self._api_keys.drawn(wanted, principal)
        one = StoredInstance(
            company_id=principal.company_id,
            key_id=key.id,
            id=instance_id,
            name=key.name,
            sealed_url=None if webhook is None else webhook.url.encode(),
            registration_id=None if delivery is None else delivery.registration_id,
            sealed_secret=None if webhook is None else webhook.sealed_secret,
            number=1,
            created_at=at,
            created_by=principal.email,
        )
        added, kept = AddedKey(key, logged, self._api_keys.most), receipt(one, key, sealed)
        replaced, said = self._replaced(principal, None, webhook, at), _logged(principal, None, one, at)
        await self._store.add_instance(one, added, replaced, kept, said)
        self._api_keys.changed(one.company_id)
        if webhook is not None:
            self._wake(*webhook.key)
        return Made(one, key, secret)

    async def change(
        self,
        principal: Principal,
        instance_id: str,
        wanted: InstanceChange,
        receipt: Callable[[StoredInstance], Receipt],
    ) -> StoredInstance | None:
        """Change a name or a place; None without such an instance. The key keeps its own name."""
        async with self._change:
            before = await self.one(principal.company_id, instance_id)
            if before is None or before.deleted_at is not None:
                return None
            at, name = self._now(), before.name if wanted.name is None else wanted.name
            after, stood = replace(before, name=name, number=before.number + 1), None
            webhook: StoredWebhook | None = None
            if wanted.delivers:
                stood, delivery = await self._store.webhook(before.company_id, before.id), wanted.delivery
                if delivery is not None:
                    webhook = await self._verified(principal, before.id, delivery, at)
                after = replace(
                    after,
                    sealed_url=None if webhook is None else webhook.url.encode(),
                    registration_id=None if delivery is None else delivery.registration_id,
                    sealed_secret=None if webhook is None else webhook.sealed_secret,
                )
            if webhook is not None and stood is not None:
                webhook = replace(webhook, created_at=stood.created_at, cursor=stood.cursor)
            replaced = self._replaced(principal, stood, webhook, at)
            await self._store.change_instance(after, replaced, receipt(after), _logged(principal, before, after, at))
        if webhook is not None:
            self._wake(*webhook.key)
        return after

    async def delete(self, principal: Principal, instance_id: str) -> StoredInstance | None:
        """Delete an instance with its credential; None without one. A repeat ends the work."""
        async with self._change:
            before = await self.one(principal.company_id, instance_id)
            if before is None:
                return None
            if before.deleted_at is None:
                at, stood = self._now(), await self._store.webhook(before.company_id, before.id)
                after = replace(before, deleted_at=at, number=before.number + 1)
                gone = replace(after, sealed_url=None, registration_id=None, sealed_secret=None)
                replaced = self._replaced(principal, stood, None, at)
                await self._store.change_instance(gone, replaced, None, _logged(principal, before, gone, at))
            await self._api_keys.delete(before.key_id, principal)
        return before

    async def _verified(
        self, principal: Principal, instance_id: str, delivery: Destination, at: datetime
    ) -> StoredWebhook:
        """The webhook of a place that has answered a challenge."""
        company_id = principal.company_id
        try:
            url = await seal_url(self._vault, company_id, instance_id, delivery.url)
            secret = await self._vault.seal(company_id, instance_id, WEBHOOK_SECRET, delivery.signing_secret)
        except SealBroken as broken:
            raise StoreFailed(f"The secret cannot be sealed: {broken}", "not_applied") from None
        message_id, challenge = str(uuid.uuid4()), str(uuid.uuid4())
        body: dict[str, Any] = {
            "id": message_id,
            "type": "webhook.verification",
            "registration_id": delivery.registration_id,
            "instance_id": instance_id,
            "created_at": stamp(at),
            "challenge": challenge,
        }
        message = WebhookMessage(company_id, instance_id, url, secret, message_id, body, TIMEOUT_S)
        answers: list[Any] = []

        async def sent() -> Any:
            answers.append(answer := await self._notify(message))
            return answer

        result = await attempt(sent(), instance_id)
        if result.status_code != OK or not answers or answers[0].body != {"challenge": challenge}:
            raise ChallengeFailed
        return StoredWebhook(
            company_id=company_id,
            id=instance_id,
            url=url,
            events=EVENTS,
            description=None,
            sealed_secret=secret,
            created_at=at,
            updated_at=at,
            updated_by=principal.email,
            kind="aap",
        )

    @staticmethod
    def _replaced(
        principal: Principal, before: StoredWebhook | None, after: StoredWebhook | None, at: datetime
    ) -> WebhookReplaced | None:
        if before is None and after is None:
            return None
        event = subscription_changed(before, after, at, principal.email, principal.via, kind=principal.kind)
        return WebhookReplaced(before, after, Logged(principal.company_id, event, caller=principal.caller))


def instance_changed(
    before: StoredInstance | None, after: StoredInstance, *, at: datetime, by: str, via: str, kind: ByKind = "person"
) -> InstanceChanged:
    """The change as the company's log has it."""
    return InstanceChanged(
        at=at,
        by=by,
        by_kind=kept_kind(kind),
        before=_form(before),
        after=_form(after),
        instance_id=after.id,
        key_id=after.key_id,
        number=after.number,
        secret_digest=None if after.sealed_secret is None else digest(after.sealed_secret),
        via=via,
    )


def _logged(principal: Principal, before: StoredInstance | None, after: StoredInstance, at: datetime) -> Logged:
    who: Any = {"by": principal.email, "via": principal.via, "kind": principal.kind}
    return Logged(principal.company_id, instance_changed(before, after, at=at, **who), caller=principal.caller)


def _form(one: StoredInstance | None) -> InstanceForm | None:
    if one is None or one.deleted_at is not None:
        return None
    url = None if one.sealed_url is None else one.sealed_url.decode()
    return InstanceForm(name=one.name, registration_id=one.registration_id, url=url)
