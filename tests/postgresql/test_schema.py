"""A PostgreSQL database whose schema is of the version before is migrated, and its runs go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import asyncpg
import pytest

from daemon.keys.keyring import KeyFileRefused
from daemon.model.chain import extended, genesis
from daemon.stores import codec
from daemon.stores.migrations import read_migrations
from daemon.stores.postgres import migrations
from daemon.stores.postgres.store import PostgresStore
from daemon.stores.rows import run_row
from tests.histories import ACME, decide, start
from tests.postgres import KEYS

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
        await store.append(ended)
        assert await store.load(ACME, "run-1") == ended.run
        assert [one.seq for one in await store.history(ACME, "run-1", 0, 9)] == list(range(1, ended.run.version + 1))
    await postgres.dropped(url)
