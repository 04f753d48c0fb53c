"""Reads the state of a PostgreSQL database without joining its daemons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import get_args

from daemon.keys.commit_keys import CommitKeys
from daemon.keys.keyring import announcement
from daemon.model.audit_events import SERVICE, KeyPurpose, KeysChanged, KeysForm
from daemon.runtime.clock import skew_s, utc_now
from daemon.stores.migrations import POSTGRES, pending, read_migrations
from daemon.stores.postgres.connection import Db, PostgresConnection, check_sessions
from daemon.stores.postgres.database import PostgresDatabase
from daemon.stores.postgres.migrations import applied
from daemon.stores.postgres.timelines import Timelines
from daemon.stores.tables.company_log import last_logged


@dataclass(frozen=True, slots=True)
class Facts:
    """Migrations applied and missing, live daemons, and unfinished runs without an owner.

    `wrapping` are the keys that wrap the companies' keys; `keys` those that were used last.
    """

    server: str
    schema: int
    missing: int
    daemons: Mapping[str, float]
    runs: Mapping[str, int]
    nobodys: int
    moving: str | None
    skew_s: float
    wrapping: frozenset[str] = frozenset()
    keys: Mapping[KeyPurpose, KeysForm] = field(default_factory=dict)


async def inspect(url: str, commit_keys: CommitKeys | None, timelines: Timelines) -> Facts:
    """What is known without the keys of commits leaves out `keys`.

    StoreFailed or SchemaMismatch say why the database cannot be used.
    """
    await check_sessions(url)
    connection = PostgresConnection(url)
    try:
        await connection.use(timelines.refuse_replaced)
        return await connection.use(partial(_looked, commit_keys=commit_keys))
    finally:
        await connection.close()


async def _looked(db: Db, commit_keys: CommitKeys | None) -> Facts:
    server = ".".join(str(part) for part in db.get_server_version()[:2])
    before = utc_now()
    now = await db.fetchval("SELECT clock_timestamp()")
    skewed_s = skew_s(before, now, utc_now())
    found = await applied(db)
    missing = len(pending(read_migrations(POSTGRES), found))
    if not found:
        return Facts(server, 0, missing, {}, {}, 0, None, skewed_s)
    daemons = await db.fetch(
        "SELECT name || ' (epoch ' || epoch || ')', extract(epoch FROM until - clock_timestamp())::float8 FROM daemons"
    )
    runs = await db.fetch("SELECT status, count(*) FROM runs GROUP BY status ORDER BY status")
    nobodys = await db.fetchval(
        "SELECT count(*) FROM runs WHERE NOT resting "
        "AND NOT EXISTS (SELECT 1 FROM daemons WHERE daemons.epoch = runs.epoch)"
    )
    moving = await db.fetchval("SELECT source FROM moves WHERE NOT done")
    wrapping = frozenset(row[0] for row in await db.fetch("SELECT DISTINCT key_id FROM company_keys"))
    standing = (dict(map(tuple, daemons)), dict(map(tuple, runs)), nobodys, moving, skewed_s)
    keys: dict[KeyPurpose, KeysForm] = {}
    for purpose in get_args(KeyPurpose):
        if commit_keys is None or missing:
            break
        last = await last_logged(PostgresDatabase(db, commit_keys), SERVICE, announcement(purpose))
        if isinstance(last, KeysChanged):
            keys[purpose] = last.after
    return Facts(server, len(found), missing, *standing, wrapping, keys)
