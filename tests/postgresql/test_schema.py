"""A PostgreSQL database whose schema is of the version before is migrated, and its runs go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import asyncpg
import pytest

from daemon.contract.base import email_key
from daemon.keys.keyring import KeyFileRefused
from daemon.model.chain import extended, genesis
from daemon.stores import addresses, codec
from daemon.stores.migrations import POSTGRES, read_migrations
from daemon.stores.postgres import migrations
from daemon.stores.postgres.store import PostgresStore
from daemon.stores.rows import run_row
from tests.histories import ACME, append, decide, start
from tests.postgres import KEYS
from tests.stores.test_addresses import AT, EMAILS

if TYPE_CHECKING:
    from tests.postgres import Server

BEFORE = 3


async def test_a_run_of_the_schema_before_the_append_function_goes_on(
    postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = await postgres.made()
    begun = start()
    version, resting, status, parked, updated_at, vertical, created_at = run_row(begun.run)
    events, exact = codec.encode_events(begun.events)
    head = extended(genesis(ACME, "run-1"), events.split(b"\n"))
    db = await asyncpg.connect(url)
    with monkeypatch.context() as patched:
        patched.setattr(migrations, "read_migrations", lambda folder: read_migrations(folder)[:BEFORE])
        await migrations.migrate(db, "")
    run = (ACME, "run-1", version, resting, status, vertical, parked, created_at, updated_at)
    await db.execute("INSERT INTO runs VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 1, 1, 0)", *run)
    commit = (ACME, "run-1", version, 1, 1, head, exact, events)
    await db.execute("INSERT INTO commits VALUES ($1, $2, $3, $4, $5, $6, $7, $8)", *commit)
    await db.execute("INSERT INTO clocks VALUES ($1, 1)", ACME)
    await db.close()
    with pytest.raises(KeyFileRefused, match="call penstock commits adopt"):
        async with PostgresStore.open(url, KEYS):
            pass
    async with PostgresStore.open(url, KEYS, adopt="missing") as store:
        assert store.adopted == 1
        assert await store.load(ACME, "run-1") == begun.run
        ended = decide(begun.run)
        await append(store, ended)
        assert await store.load(ACME, "run-1") == ended.run
        assert [one.seq for one in await store.history(ACME, "run-1", 0, 9)] == list(range(1, ended.run.version + 1))
    await postgres.dropped(url)


async def test_an_address_that_was_compared_by_casefold_is_found_by_its_owner_alone(
    postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = await postgres.made()
    db = await asyncpg.connect(url)
    with monkeypatch.context() as patched:
        known = read_migrations(POSTGRES)
        before = next(place for place, one in enumerate(known) if one.name == addresses.MIGRATION)
        patched.setattr(migrations, "read_migrations", lambda _: known[:before])
        await migrations.migrate(db, AT)
    await db.execute("INSERT INTO companies (id, name, created_at) VALUES ('c', 'Acme', $1)", AT)
    users = "INSERT INTO users (company_id, id, email, password_hash, created_at) VALUES ('c', $1, $2, 'hash', $3)"
    members = (
        "INSERT INTO members (company_id, id, user_id, email, email_key, role, status, changed_at) "
        "VALUES ('c', $1, $1, $2, $3, 'member', 'active', $4)"
    )
    for number, email in enumerate(EMAILS):
        name, key = f"u{number}", email.casefold()
        await db.execute(users, name, email, AT)
        await db.execute("INSERT INTO addresses (company_id, user_id, email_key) VALUES ('c', $1, $2)", name, key)
        await db.execute(members, name, email, key, AT)
    await migrations.migrate(db, AT)
    joined = "SELECT email, addresses.email_key FROM addresses JOIN users ON users.id = user_id"
    for statement in (joined, "SELECT email, email_key FROM members"):
        assert {row[0]: row[1] for row in await db.fetch(statement)} == {email: email_key(email) for email in EMAILS}
    assert await db.fetchval("SELECT count(*) FROM addresses WHERE email_key = 'boss@example.test'") == 0
    await db.close()
    await postgres.dropped(url)
