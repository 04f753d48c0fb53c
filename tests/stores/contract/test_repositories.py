"""Accounts, receipts, templates and revocations: kept as given, and for their company alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from msgspec import structs

from actors.core.messages import RunEnded
from actors.ports import ReceiptTaken
from daemon.model import EmailTaken, SchemaMismatch, StoredTemplate
from daemon.stores.rows import iso
from daemon.stores.store import Store
from daemon.stores.tables.receipts import DROPPED_AT_ONCE, DROPPED_BYTES_MAX, drop_receipts
from tests.histories import ACME, NOON, OTHER, account, action, append, commit, receipt

if TYPE_CHECKING:
    from tests.histories import Clock

PATH = "/process-runs/"
DOCUMENT = StoredTemplate("sha256:one", "prior-auth", 1, '{"title": "Ünïcode"}')


async def test_an_account_is_found_by_its_address_in_any_case_and_by_its_user(store: Store) -> None:
    await store.register(account(), None)
    for email in ("Ann@Example.test", "ann@example.test", "ANN@EXAMPLE.TEST"):
        assert await store.account_by_email(email) == account()
    assert await store.account("user-ann", ACME) == account()


async def test_an_unknown_account_is_not_found(store: Store) -> None:
    await store.register(account(), None)
    assert await store.account_by_email("bob@example.test") is None
    assert await store.account("user-bob", OTHER) is None


async def test_an_address_has_one_account_whatever_its_case(store: Store) -> None:
    await store.register(account(), None)
    with pytest.raises(EmailTaken):
        await store.register(account("bob", OTHER, "ann@EXAMPLE.test"), None)
    assert await store.account("user-bob", OTHER) is None
    await store.register(account("bob", OTHER, "bob@example.test"), None)


async def test_a_refused_registration_leaves_no_receipt(store: Store) -> None:
    await store.register(account(), receipt("first", "", status=201))
    with pytest.raises(EmailTaken):
        await store.register(account("bob", OTHER), receipt("second", ""))
    assert await store.receipt("", PATH, "second") is None
    assert await store.receipt("", PATH, "first") == receipt("first", "", status=201)


async def test_a_repeated_registration_is_known_by_its_key_before_its_address(store: Store) -> None:
    await store.register(account(), receipt("first", ""))
    with pytest.raises(ReceiptTaken):
        await store.register(account("bob", OTHER), receipt("first", ""))


async def test_revoked_tokens_are_remembered_until_they_would_have_expired(store: Store, clock: Clock) -> None:
    early, late = NOON + timedelta(hours=1), NOON + timedelta(hours=2, microseconds=7)
    await store.revoke("token-1", early)
    await store.revoke("token-2", late)
    await store.revoke("token-2", late)
    assert await store.revoked() == {"token-1": early, "token-2": late}
    clock.forward(hours=1)
    assert await store.revoked() == {"token-2": late}
    await store.drop_revocations(early)
    clock.forward(hours=-1)
    assert await store.revoked() == {"token-2": late}


async def test_a_receipt_is_kept_for_its_company_path_and_key_alone(store: Store) -> None:
    await store.keep_receipt(receipt(status=201))
    assert await store.receipt(ACME, PATH, "key-1") == receipt(status=201)
    for company_id, path, key in [(OTHER, PATH, "key-1"), (ACME, "/connectors/", "key-1"), (ACME, PATH, "key-2")]:
        assert await store.receipt(company_id, path, key) is None


async def test_an_unanswered_receipt_is_completed_and_keeps_what_it_was_for(store: Store) -> None:
    await store.keep_receipt(receipt(run_id="run-1"))
    await store.keep_receipt(structs.replace(receipt(status=200), fingerprint=b"another"))
    assert await store.receipt(ACME, PATH, "key-1") == receipt(run_id="run-1", status=200)


async def test_an_answered_receipt_is_never_answered_again(store: Store) -> None:
    await store.keep_receipt(receipt(status=200))
    for again in (receipt(status=409), receipt()):
        with pytest.raises(ReceiptTaken):
            await store.keep_receipt(again)
    assert await store.receipt(ACME, PATH, "key-1") == receipt(status=200)


async def test_old_receipts_are_dropped_and_counted(store: Store, clock: Clock) -> None:
    for n in range(3):
        await store.keep_receipt(receipt(f"old-{n}", status=200))
    clock.forward(hours=1)
    await store.keep_receipt(receipt("new", status=200))
    assert await store.drop_receipts(clock.now) == 3
    assert await store.drop_receipts(clock.now) == 0
    assert await store.receipt(ACME, PATH, "old-0") is None
    assert await store.receipt(ACME, PATH, "new") is not None


async def test_receipts_of_approvals_stay_until_eight_days_after_their_end(store: Store, clock: Clock) -> None:
    path = "/aap/v1/requests"
    for run_id in ("open", "ended"):
        await store.append(action(run_id, gates=("ask",)))
    for of in ("open", "ended", None):
        await store.keep_receipt(structs.replace(receipt(f"of-{of}"), path=path, run_id=of))
    clock.forward(days=7)
    assert await store.drop_receipts(clock.now) == 0
    run = await store.load(ACME, "ended")
    assert run is not None
    await append(store, commit(run, RunEnded(at=clock.now, status="cancelled", was="parked")))
    clock.forward(days=2)
    assert await store.drop_receipts(clock.now) == 1
    clock.forward(days=7)
    assert await store.drop_receipts(clock.now) == 1
    kept = [await store.receipt(ACME, path, f"of-{one}") is not None for one in ("open", "ended", None)]
    assert kept == [True, False, False]


async def test_answering_a_receipt_does_not_make_it_younger(store: Store, clock: Clock) -> None:
    await store.keep_receipt(receipt())
    clock.forward(hours=1)
    await store.keep_receipt(receipt(status=200))
    assert await store.drop_receipts(clock.now) == 1


async def test_more_receipts_than_fit_one_batch_are_dropped_all_the_same(store: Store, clock: Clock) -> None:
    for n in range(1_100):
        await store.keep_receipt(receipt(f"old-{n}", status=200))
    clock.forward(hours=1)
    assert await store.drop_receipts(clock.now) == 1_100


async def test_large_receipts_are_dropped_a_few_at_a_time(store: Store, clock: Clock) -> None:
    for n in range(2 * DROPPED_AT_ONCE):
        body = b"x" * (DROPPED_BYTES_MAX // DROPPED_AT_ONCE + 1)
        await store.keep_receipt(structs.replace(receipt(f"old-{n}", status=200), body=body))
    clock.forward(hours=1)
    assert await store._write("", lambda db: drop_receipts(db, iso(clock.now))) == DROPPED_AT_ONCE
    assert await store.drop_receipts(clock.now) == DROPPED_AT_ONCE


async def test_a_template_is_kept_under_its_digest(store: Store) -> None:
    await store.keep_template(DOCUMENT)
    await store.keep_template(DOCUMENT)
    await store.keep_template(replace(DOCUMENT, digest="sha256:two", version=2))
    assert await store.template_document("sha256:one") == DOCUMENT
    assert await store.template_document("sha256:three") is None


async def test_a_version_of_a_template_never_means_another_document(store: Store) -> None:
    await store.keep_template(DOCUMENT)
    with pytest.raises(SchemaMismatch, match="give the changed template a new version"):
        await store.keep_template(replace(DOCUMENT, digest="sha256:two"))
    assert await store.template_document("sha256:two") is None


async def test_a_healthy_store_can_be_written(store: Store) -> None:
    await store.ping()
    assert store.failed is False
