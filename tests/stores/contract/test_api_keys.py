"""API keys in either database: added with their event and receipt, found by hash, deleted once."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from actors.ports import ReceiptTaken
from daemon.model.audit_events import Logged
from daemon.model.events.company import ApiKeyChanged, ApiKeyCreated, ApiKeyDeleted
from daemon.model.key_terms import KeyTerms, Scopes
from daemon.model.people.credentials import KeyNameTaken, StoredApiKey, TooManyApiKeys
from daemon.stores.store import Store
from tests.histories import ACME, NOON, OTHER, receipt

LATER = NOON + timedelta(hours=1)


def key(name: str, company_id: str = ACME) -> StoredApiKey:
    key_hash = b"\x00\xff" + f"{company_id} {name}".encode()
    return StoredApiKey(company_id, f"key-{name}", name, "agent", "member", "psk_12", key_hash, NOON, "ann", LATER)


def created(one: StoredApiKey) -> Logged:
    event = ApiKeyCreated(
        at=NOON,
        by="ann",
        digest="sha256:0",
        expires_at=one.expires_at,
        key_id=one.id,
        kind=one.kind,
        name=one.name,
        prefix=one.prefix,
        role=one.role,
        via="session",
    )
    return Logged(one.company_id, event)


async def delete(store: Store, one: StoredApiKey, company_id: str = ACME) -> bool:
    event = ApiKeyDeleted(at=LATER, by="ann", key_id=one.id, name=one.name, via="session")
    return await store.delete_api_key(company_id, one.id, LATER, Logged(company_id, event))


async def events(store: Store) -> int:
    return len(await store.logged(ACME, None, 50))


async def test_a_key_is_found_by_its_hash_as_it_was_added(store: Store) -> None:
    one = key("one")
    await store.add_api_key(one, created(one), None)
    assert await store.api_key(one.key_hash) == one
    assert await store.api_keys_of(ACME) == [one]
    assert await store.api_key(b"other") is None
    assert list(await store.api_keys_of(OTHER)) == []


async def test_a_key_is_put_under_other_terms_once_while_it_is_there(store: Store) -> None:
    one, other = key("one"), key("other", OTHER)
    for each in (one, other):
        await store.add_api_key(each, created(each), None)
    terms = KeyTerms(model="m-1", models=("m-*",), scopes=Scopes(start=(), call=("a/*",), read="own"))

    async def change(key_id: str) -> StoredApiKey | None:
        def logged(stood: StoredApiKey) -> Logged:
            said = {"key_id": key_id, "name": stood.name, "before": stood.terms, "after": terms}
            return Logged(ACME, ApiKeyChanged(at=LATER, by="ann", via="session", **said))  # type: ignore[arg-type]

        return await store.change_api_key(ACME, key_id, terms, logged)

    before = await events(store)
    for _ in range(2):
        assert await change(one.id) == one.under(terms)
    assert await store.api_key(one.key_hash) == one.under(terms)
    assert await store.api_key(other.key_hash) == other
    assert await events(store) == before + 1
    assert await change("key-none") is None
    assert await delete(store, one)
    assert await change(one.id) is None


async def test_a_deleted_key_is_not_found_and_its_name_is_free(store: Store) -> None:
    one = key("one")
    await store.add_api_key(one, created(one), None)
    assert not await delete(store, one, OTHER)
    assert [await delete(store, one) for _ in range(2)] == [True, False]
    assert await store.api_key(one.key_hash) is None
    assert list(await store.api_keys_of(ACME)) == []
    assert await events(store) == 2
    again = replace(key("one"), id="key-again", key_hash=b"again")
    await store.add_api_key(again, created(again), None)


async def test_a_key_that_is_refused_leaves_nothing_behind(store: Store) -> None:
    one, other = key("one"), key("other")
    await store.add_api_key(one, created(one), receipt("taken"))
    with pytest.raises(KeyNameTaken):
        await store.add_api_key(replace(other, name="ONE"), created(other), receipt("free"))
    with pytest.raises(TooManyApiKeys):
        await store.add_api_key(other, created(other), receipt("free"), 1)
    with pytest.raises(ReceiptTaken):
        await store.add_api_key(other, created(other), receipt("taken"))
    assert await store.api_keys_of(ACME) == [one]
    assert await store.receipt(ACME, receipt("free").path, "free") is None
    assert await events(store) == 1


async def test_use_is_recorded_and_never_goes_back(store: Store) -> None:
    one = key("one")
    await store.add_api_key(one, created(one), None)
    await store.touch_api_keys([one.id, "unknown"], LATER)
    await store.touch_api_keys([one.id], NOON)
    assert await store.api_key(one.key_hash) == replace(one, last_used_at=LATER)
