"""Connectors with all their changes, and the companies' wrapped keys: for their company alone, and
never half.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from actors.ports import StoreFailed
from daemon.model import CompanyKey
from daemon.stores.store import Store
from tests.histories import ACME, NOON, OTHER, change, stored_connector

TOOL = "chart-fetch"


def key(company_id: str = ACME, key_id: str = "old", wrapped: bytes = b"\x00wrapped\xff") -> CompanyKey:
    return CompanyKey(company_id, key_id, wrapped, NOON)


async def numbers(store: Store, before: int | None = None, limit: int = 100, company_id: str = ACME) -> list[int]:
    return [one.number for one in await store.connector_changes(company_id, TOOL, before, limit)]


async def test_connectors_are_listed_by_tool_for_their_company_alone(store: Store) -> None:
    for tool, company in (("b", ACME), ("a", ACME), ("c", OTHER)):
        await store.put_connector(stored_connector(tool, company), change(1, tool, company))
    assert list(await store.connectors_of(ACME)) == [stored_connector("a"), stored_connector("b")]
    assert list(await store.connectors_of("company-new")) == []


async def test_a_connector_takes_the_place_of_the_earlier_one(store: Store) -> None:
    await store.put_connector(stored_connector(), change())
    changed = replace(stored_connector(version=2), sealed_secret=None, updated_by="bob")
    await store.put_connector(changed, change(2))
    assert list(await store.connectors_of(ACME)) == [changed]


async def test_a_connector_is_deleted_once_and_by_its_company_alone(store: Store) -> None:
    await store.put_connector(stored_connector(), change())
    assert await store.delete_connector(change(2, company_id=OTHER, gone=True)) is False
    assert await store.delete_connector(change(2, gone=True)) is True
    assert await store.delete_connector(change(3, gone=True)) is False
    assert list(await store.connectors_of(ACME)) == []
    assert await numbers(store, company_id=OTHER) == []
    assert await numbers(store) == [2, 1]


async def test_every_change_is_kept_as_it_was_newest_first(store: Store) -> None:
    for number in (1, 2):
        await store.put_connector(stored_connector(version=number), change(number))
    await store.delete_connector(change(3, gone=True))
    assert list(await store.connector_changes(ACME, TOOL, None, 9)) == [change(3, gone=True), change(2), change(1)]


async def test_changes_are_read_page_by_page(store: Store) -> None:
    for number in range(1, 8):
        await store.put_connector(stored_connector(version=number), change(number))
    assert await numbers(store, limit=3) == [7, 6, 5]
    assert await numbers(store, before=5, limit=3) == [4, 3, 2]
    assert await numbers(store, before=2, limit=3) == [1]
    assert await numbers(store, before=1) == []
    assert await numbers(store, before=10**30, limit=1) == [7]
    assert await numbers(store, limit=0) == []


async def test_no_company_sees_the_changes_of_another_nor_of_another_tool(store: Store) -> None:
    await store.put_connector(stored_connector(), change())
    assert await numbers(store, company_id=OTHER) == []
    assert list(await store.connector_changes(ACME, "other", None, 9)) == []


async def test_a_change_whose_number_is_taken_changes_nothing(store: Store) -> None:
    await store.put_connector(stored_connector(), change())
    with pytest.raises(StoreFailed):
        await store.put_connector(stored_connector(version=2), replace(change(), by="bob"))
    with pytest.raises(StoreFailed):
        await store.delete_connector(replace(change(gone=True), by="bob"))
    assert list(await store.connectors_of(ACME)) == [stored_connector()]
    assert list(await store.connector_changes(ACME, TOOL, None, 9)) == [change()]


async def test_a_company_has_the_first_key_that_it_was_given(store: Store) -> None:
    assert await store.company_key(ACME) is None
    assert await store.add_company_key(key()) == key()
    assert await store.add_company_key(key(wrapped=b"later")) == key()
    assert await store.company_key(ACME) == key()
    assert await store.company_key(OTHER) is None


async def test_keys_wrapped_by_another_key_are_listed_page_by_page(store: Store) -> None:
    for n in range(5):
        await store.add_company_key(key(f"company-{n}"))
    await store.add_company_key(key("company-new", "new"))
    found = [one.company_id for one in await store.company_keys("new", "", 3)]
    assert found == ["company-0", "company-1", "company-2"]
    assert [one.company_id for one in await store.company_keys("new", found[-1], 3)] == ["company-3", "company-4"]
    assert list(await store.company_keys("old", "", 3)) == [key("company-new", "new")]


async def test_keys_are_wrapped_anew_and_stay_the_companys(store: Store) -> None:
    for company in (ACME, OTHER):
        await store.add_company_key(key(company))
    await store.rewrap_company_keys([key(ACME, "new", b"again"), key("company-none", "new")])
    await store.rewrap_company_keys([])
    assert await store.company_key(ACME) == key(ACME, "new", b"again")
    assert await store.company_key(OTHER) == key(OTHER)
    assert await store.company_key("company-none") is None
