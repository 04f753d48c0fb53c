"""Changes that wait for another person, in either store: decided once, and done with that."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from daemon.model.audit_events import Logged
from daemon.model.events.company import ChangeApproved, CompanyPolicy, PolicyChanged
from daemon.model.people.changes import ChangeDecided, ChangeDecision, ChangeStale, StoredChange, TooManyChanges
from daemon.model.people.companies import POLICY
from daemon.stores.store import Store
from tests.audit.scenario_policies import denied, gated_change, requested
from tests.histories import ACME, NOON, OTHER


async def asked(store: Store, name: str = "c1", company_id: str = ACME, **more: Any) -> StoredChange:
    one = gated_change(company_id, name, "ann", b"sealed")
    await store.add_gated_change(one, Logged(company_id, requested(one)), None, **more)
    return one


def approved(one: StoredChange, by: str = "bob") -> ChangeDecision:
    said: dict[str, Any] = {"act": one.act, "change": one.id, "digest": one.digest, "what": one.what}
    event = ChangeApproved(at=NOON, asked_by=one.requested_by, by=by, via="session", **said)
    return ChangeDecision(
        replace(one, status="approved", decided_at=NOON, decided_by=by), Logged(one.company_id, event)
    )


def changed(number: int) -> Logged:
    after = CompanyPolicy(solo=False)
    event = PolicyChanged(at=NOON, by="ann", before=CompanyPolicy(), after=after, number=number, via="session")
    return Logged(ACME, event)


async def events(store: Store) -> list[str]:
    found = [await store.last_logged(ACME, f'"type":"{one}"') for one in ("change_approved", "policy_changed")]
    return [one.type for one in found if one is not None]


async def test_a_change_is_read_as_it_was_asked_for_and_listed_the_newest_first_by_company(store: Store) -> None:
    first, second = await asked(store, "c1"), await asked(store, "c2")
    await asked(store, "c3", OTHER)
    assert await store.gated_change(ACME, "c1") == first
    assert await store.gated_change(ACME, "c3") is None
    assert [*await store.gated_changes(ACME, "", 5)] == [second, first]
    assert [*await store.gated_changes(ACME, "c2", 5)] == [first]
    assert [*await store.gated_changes(ACME, "", 1)] == [second]


async def test_a_change_is_decided_once(store: Store) -> None:
    one = await asked(store)
    decisions = [store.decide_change(each) for each in (denied(one, "bob"), denied(one, "cyd"), approved(one))]
    results = await asyncio.gather(*decisions, return_exceptions=True)
    assert sorted(map(str, map(type, results))) == sorted(map(str, (type(None), ChangeDecided, ChangeDecided)))
    found = await store.gated_change(ACME, one.id)
    assert found is not None
    assert found.status in ("denied", "approved")


async def test_a_decision_and_what_it_does_are_written_together_or_not_at_all(store: Store) -> None:
    one = await asked(store)
    assert await store.put_setting(POLICY, changed(1))
    with pytest.raises(ChangeStale):
        await store.put_setting(POLICY, changed(1), approved(one))
    assert await store.gated_change(ACME, one.id) == one
    assert await events(store) == ["policy_changed"]
    assert await store.put_setting(POLICY, changed(2), approved(one))
    with pytest.raises(ChangeDecided):
        await store.put_setting(POLICY, changed(3), approved(one, "cyd"))
    assert await events(store) == ["change_approved", "policy_changed"]
    assert await store.setting_value(POLICY, ACME) == CompanyPolicy(solo=False)
    stored = await store.setting(POLICY, ACME)
    assert stored is not None
    assert stored.number == 2


async def test_a_company_has_so_many_open_changes_and_those_that_were_decided_do_not_count(store: Store) -> None:
    one = await asked(store, "c1", most=2)
    await asked(store, "c2", most=2)
    with pytest.raises(TooManyChanges):
        await asked(store, "c3", most=2)
    assert await store.gated_change(ACME, "c3") is None
    await asked(store, "c3", OTHER, most=1)
    await store.decide_change(denied(one, "bob"))
    await asked(store, "c4", most=2)
