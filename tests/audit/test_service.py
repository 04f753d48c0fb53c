"""The service's own evidence: it covers all companies, and what stood before it was written."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from daemon.audit.sealer import Sealer, Signer, read_public
from daemon.keys.keyring import KeyRing, write_ring
from daemon.model.audit_events import ROOTS, Logged, LoginRefused, Registered
from daemon.stores.sqlite.store import SqliteStore
from daemon.stores.tables import adoption, audit
from daemon.verification.stores import verify_store
from tests.audit.past import Past, plain_copy
from tests.audit.scenario import registered
from tests.audit.test_commands import penstock
from tests.histories import ACME, NOON, OTHER, account, change, stored_connector

_ROOTS = "SELECT events FROM commits WHERE company_id = '' AND run_id = ? ORDER BY version"


@pytest.fixture
def signer(tmp_path: Path) -> Signer:
    write_ring(tmp_path / "audit.keys", KeyRing("", {}).rotated())
    return Signer(tmp_path / "audit.keys", tmp_path / "audit.pub", lambda: NOON)


@pytest.fixture
def folder(made: Past, tmp_path: Path) -> Path:
    (tmp_path / "pinned.pub").write_bytes((made.database.parent / "audit.pub").read_bytes())
    (tmp_path / "audit.pub").write_bytes((made.database.parent / "audit.pub").read_bytes())
    plain_copy(made, tmp_path / "penstock.db").close()
    return tmp_path


def recorded(path: Path) -> list[list[str]]:
    """The companies of each event that records audit."""
    with closing(sqlite3.connect(path)) as db:
        return [sorted(json.loads(events)["roots"]) for (events,) in db.execute(_ROOTS, (ROOTS,))]


async def test_the_roots_of_companies_that_changed_are_recorded_and_sealed(tmp_path: Path, signer: Signer) -> None:
    path = tmp_path / "penstock.db"
    async with SqliteStore.open(path) as store:
        sealer = Sealer(store, signer)
        for company in (ACME, OTHER):
            await store.log(Logged(company, LoginRefused(at=NOON, by="ann")))
        await sealer.seal()
        await sealer.seal()
        await store.log(Logged(ACME, LoginRefused(at=NOON, by="ann")))
        await sealer.seal()
        assert await store.unsealed() == 0
        assert not await store.unrecorded()
    assert recorded(path) == [[ACME, OTHER], [ACME]]
    assert list(verify_store(path, read_public(tmp_path / "audit.pub"))) == []


async def test_many_roots_are_recorded_in_several_events(
    tmp_path: Path, signer: Signer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "RECORDED_MAX", 2)
    path = tmp_path / "penstock.db"
    async with SqliteStore.open(path) as store:
        for number in range(5):
            await store.log(Logged(f"company-{number}", LoginRefused(at=NOON, by="ann")))
        await Sealer(store, signer).seal()
    assert list(map(len, recorded(path))) == [2, 2, 1]


async def test_what_a_company_has_asked_for_is_recorded_at_the_next_look(tmp_path: Path, signer: Signer) -> None:
    path = tmp_path / "penstock.db"
    async with SqliteStore.open(path) as store:
        await store.log(Logged(ACME, LoginRefused(at=NOON, by="ann")))
        await Sealer(store, signer).seal(ACME)
        assert recorded(path) == []
        await Sealer(store, signer).tick()
    assert recorded(path) == [[ACME]]


def test_the_services_export_and_checkpoint_come_from_the_store_and_verify(folder: Path) -> None:
    exported = penstock("audit", "export", "--service", "--data-dir", folder, "--output", folder / "service.jsonl")
    assert exported.exit_code == 0, exported.output
    newest = penstock("audit", "checkpoint", "--service", "--data-dir", folder)
    (folder / "kept.json").write_text(newest.output)
    arguments = ("--key", folder / "pinned.pub", "--against", folder / "kept.json")
    for what in (folder / "service.jsonl",), ("--data-dir", folder):
        done = penstock("verify", *what, *arguments)
        assert done.exit_code == 0, done.output
        assert "note" not in done.output.lower()
    with closing(sqlite3.connect(folder / "penstock.db", isolation_level=None)) as db:
        for table in ("audit_leaves", "audit_nodes", "audit_checkpoints"):
            db.execute(f"DROP TRIGGER {table}_remain")
            db.execute(f"DELETE FROM {table} WHERE company_id = ?", (ACME,))  # noqa: S608 - a name of our own
        db.execute("DELETE FROM commits WHERE company_id = ?", (ACME,))
    gone = penstock("verify", "--data-dir", folder, *arguments)
    assert gone.exit_code == 1
    assert f"roots: company {ACME!r}" in gone.output


def test_an_export_of_a_company_from_the_store_is_what_the_company_gets(folder: Path, made: Past) -> None:
    done = penstock("audit", "export", "--company", ACME, "--data-dir", folder)
    assert done.stdout.encode() == b"".join(made.exports[ACME])
    assert penstock("audit", "export", "--data-dir", folder).exit_code == 78
    assert penstock("audit", "checkpoint", "--company", "none", "--data-dir", folder).exit_code == 1


def test_a_verification_with_the_folders_own_keys_says_loudly_that_they_are_not_pinned(folder: Path) -> None:
    loud = penstock("verify", "--data-dir", folder)
    assert loud.exit_code == 0
    assert "NOT PINNED" in loud.output
    assert [one[:10] for one in json.loads(penstock("verify", "--data-dir", folder, "--json").output)["notes"]] == [
        "NOT PINNED",
        "MACS UNCHE",
        "NOT KEPT: ",
    ]
    assert "NOT PINNED" not in penstock("verify", "--data-dir", folder, "--key", folder / "pinned.pub").output


async def test_what_stood_before_is_adopted_once_and_later_changes_are_found(
    tmp_path: Path, signer: Signer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adoption, "ADOPTED_MAX", 1)
    path, keys = tmp_path / "penstock.db", read_public(tmp_path / "audit.pub")
    async with SqliteStore.open(path, clock=lambda: NOON) as store:
        for company, name in ((ACME, "ann"), (OTHER, "eve")):
            one = account(name, company, f"{name}@{name}.test")
            joined = Registered(at=NOON, by=one.user.email, company=one.company.name, role="manager", user=one.user.id)
            await store.register(one, None, [Logged(company, joined)])
            await store.put_connector(stored_connector(company_id=company), change(company_id=company))
        assert [await store.adopt(), await store.adopt(), await store.adopt(), await store.adopt()] == [
            *(True, True),
            *(False, False),
        ]
        late = account("bob", "company-late", "bob@bob.test")
        await store.register(late, None, [registered(late)])
        await Sealer(store, signer).seal()
    assert list(verify_store(path, keys)) == []
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("INSERT INTO companies VALUES ('inserted', 'x', 'now')")
        db.execute("UPDATE users SET password_hash = 'mine' WHERE company_id = ?", (ACME,))
    async with SqliteStore.open(path) as store:
        assert not await store.adopt()
    assert sorted((one.kind, one.what) for one in verify_store(path, keys)) == [
        ("company", "no log knows it: it was inserted"),
        ("user", "password_hash is not what the log says"),
    ]


async def test_a_company_of_a_new_installation_is_not_adopted(tmp_path: Path) -> None:
    async with SqliteStore.open(tmp_path / "penstock.db", clock=lambda: NOON) as store:
        one = account()
        await store.register(one, None, [registered(one)])
        assert not await store.adopt()
        assert len(await store.logged(one.company.id, None, 10)) == 1
