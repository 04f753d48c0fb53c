"""API keys: created, listed and deleted; and which of them count."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from actors.ports import Receipt, StoreFailed
from daemon.contract.accounts import ApiKeyDefinition, ApiKeyTerms
from daemon.identity.tokens import NotAuthenticated, Principal
from daemon.keys.vault import API_KEY, SealBroken, Vault
from daemon.model.audit_events import Logged
from daemon.model.chain import digest
from daemon.model.events.company import ApiKeyChanged, ApiKeyCreated, ApiKeyDeleted
from daemon.model.key_terms import NO_TERMS, KeyTerms
from daemon.model.people.credentials import API_KEYS_MAX, StoredApiKey
from daemon.runtime.clock import new_id
from daemon.stores.store import Store

PREFIX = "psk_"
SECRET_BYTES = 32
PREFIX_CHARS = len(PREFIX) + 8
KNOWN_MAX = 10_000
TOUCH_MAX = 500
VIA = "api_key"
NEVER = datetime.max.replace(tzinfo=UTC)
_FORM = re.compile(r"psk_[A-Za-z0-9_-]{43}")


class ApiKeys:
    """The keys of all companies; those that were used lately are kept in memory."""

    def __init__(
        self,
        store: Store,
        vault: Vault,
        now: Callable[[], datetime],
        most: int = API_KEYS_MAX,
        *,
        deleted: Callable[[], None] = lambda: None,
        made: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`deleted` is called when keys were deleted or changed, here or by another daemon.

        `made` is called with the company after each change of its keys here.
        """
        self._store = store
        self._made = made
        self._vault = vault
        self._now = now
        self._most = most
        self._known: OrderedDict[bytes, StoredApiKey] = OrderedDict()
        self._forgotten = 0
        self._used: set[str] = set()
        self._deleted = deleted

    async def principal(self, secret: str) -> Principal:
        """The holder of a key; NotAuthenticated when it is unknown, deleted or expired."""
        if not _FORM.fullmatch(secret):
            raise NotAuthenticated
        key = await self._key(hash_of(secret))
        if key is None or (key.expires_at is not None and key.expires_at <= self._now()):
            raise NotAuthenticated
        self._used.add(key.id)
        return Principal(
            user_id=key.id,
            company_id=key.company_id,
            role=key.role,
            email=key.name,
            token_id=key.id,
            expires_at=key.expires_at or NEVER,
            via=VIA,
            session_id=key.id,
            kind=key.kind,
            amr=(),
            made_by=key.created_by,
            acts_for=key.acts_for,
            terms=key.terms,
        )

    async def create(
        self, wanted: ApiKeyDefinition, by: Principal, receipt: Callable[[StoredApiKey, bytes], Receipt | None]
    ) -> tuple[StoredApiKey, str]:
        """Create a key; returns it with its secret; KeyNameTaken or TooManyApiKeys if refused."""
        key, secret, sealed, logged = await self.drawn(wanted, by)
        await self._store.add_api_key(key, logged, receipt(key, sealed), self._most)
        self.changed(key.company_id)
        return key, secret

    async def drawn(self, wanted: ApiKeyDefinition, by: Principal) -> tuple[StoredApiKey, str, bytes, Logged]:
        """A key that is to be stored, its secret, that sealed, and what the log says of it.

        One that is made by a key that may do less than its role has the scopes of that one.
        """
        secret, key_id, company_id = PREFIX + secrets.token_urlsafe(SECRET_BYTES), new_id(), by.company_id
        terms = _terms(wanted)
        key = StoredApiKey(
            company_id=company_id,
            id=key_id,
            name=wanted.name,
            kind=wanted.kind,
            role=wanted.role,
            prefix=secret[:PREFIX_CHARS],
            key_hash=hash_of(secret),
            created_at=self._now(),
            created_by=by.email,
            expires_at=wanted.expires_at,
            acts_for=wanted.acts_for,
        ).under(replace(terms, scopes=by.terms.scopes or terms.scopes))
        sealed = await self._sealed(key, secret)
        return key, secret, sealed, Logged(company_id, _created(key, by), caller=by.caller)

    @property
    def most(self) -> int:
        """How many keys a company may have."""
        return self._most

    def changed(self, company_id: str) -> None:
        """Keys of a company were made."""
        self._made(company_id)

    async def reveal(self, company_id: str, key_id: str, sealed: bytes) -> str:
        """The secret of a key, for a repeated response."""
        try:
            return await self._vault.open(company_id, key_id, API_KEY, sealed)
        except SealBroken as broken:
            raise StoreFailed(f"The key cannot be opened: {broken}", "not_applied") from None

    async def all(self, company_id: str) -> Sequence[StoredApiKey]:
        return await self._store.api_keys_of(company_id)

    async def change(self, key_id: str, wanted: ApiKeyTerms, by: Principal) -> StoredApiKey | None:
        """Put a key of the company under other terms; None when there is none of this id."""
        company_id, terms = by.company_id, _terms(wanted)

        def logged(stood: StoredApiKey) -> Logged:
            said: Any = {"key_id": key_id, "name": stood.name, "before": stood.terms, "after": terms}
            return Logged(company_id, ApiKeyChanged(at=self._now(), by=by.email, via=by.via, **said), caller=by.caller)

        found = await self._store.change_api_key(company_id, key_id, terms, logged)
        if found is not None:
            self.forget([found.key_hash])
            self._made(company_id)
        return found

    async def delete(self, key_id: str, by: Principal) -> bool:
        """Delete a key of the company; False when there is none of this id."""
        found = next((one for one in await self.all(by.company_id) if one.id == key_id), None)
        if found is None:
            return False
        now = self._now()
        deleted = ApiKeyDeleted(at=now, by=by.email, key_id=key_id, name=found.name, via=by.via)
        logged = Logged(by.company_id, deleted, caller=by.caller)
        done = await self._store.delete_api_key(by.company_id, key_id, now, logged)
        self.forget([found.key_hash])
        self._made(by.company_id)
        return done

    def forget(self, hashes: Iterable[bytes]) -> None:
        """Keys that were deleted or changed, here or by another daemon."""
        for key_hash in hashes:
            self._known.pop(key_hash, None)
            self._forgotten += 1
            self._deleted()

    async def record_use(self) -> None:
        """Write when keys were used, a bounded number in each transaction."""
        used, self._used = sorted(self._used), set()
        for first in range(0, len(used), TOUCH_MAX):
            with suppress(StoreFailed):  # it is written with the next use
                await self._store.touch_api_keys(used[first : first + TOUCH_MAX], self._now())

    async def _key(self, key_hash: bytes) -> StoredApiKey | None:
        key = self._known.get(key_hash)
        if key is not None:
            self._known.move_to_end(key_hash)
            return key
        forgotten = -1
        while forgotten != self._forgotten:  # else the key may have been deleted behind the read
            forgotten = self._forgotten
            key = await self._store.api_key(key_hash)
        if key is not None:
            self._known[key_hash] = key
            if len(self._known) > KNOWN_MAX:
                self._known.popitem(last=False)
        return key

    async def _sealed(self, key: StoredApiKey, secret: str) -> bytes:
        try:
            return await self._vault.seal(key.company_id, key.id, API_KEY, secret)
        except SealBroken as broken:
            raise StoreFailed(f"The key cannot be sealed: {broken}", "not_applied") from None


def hash_of(secret: str) -> bytes:
    """What is stored of a key. Its 32 random bytes need no slow hash."""
    return hashlib.sha256(secret.encode()).digest()


def _created(key: StoredApiKey, by: Principal) -> ApiKeyCreated:
    return ApiKeyCreated(
        acts_for=True if key.acts_for else UNSET,
        at=key.created_at,
        by=by.email,
        digest=digest(key.key_hash),
        expires_at=key.expires_at,
        key_id=key.id,
        kind=key.kind,
        name=key.name,
        prefix=key.prefix,
        role=key.role,
        terms=UNSET if key.terms == NO_TERMS else key.terms,
        via=by.via,
    )


def _terms(wanted: ApiKeyTerms) -> KeyTerms:
    said = wanted.model_dump(include={"model", "models", "scopes"}, exclude_none=True)
    return msgspec.convert({name: one for name, one in said.items() if one}, KeyTerms)
