"""Which daemons are alive, by the database's clock, and who takes over the work of others.

A daemon's lease is a row. Each commit locks the row (FOR KEY SHARE); deleting an expired one
waits for the commits under way and lets none follow. So a daemon that was frozen can write
nothing when it wakes, and its work is taken over once.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

import structlog

from actors.ports import StoreFailed
from daemon.model import DiskFull, StoreState
from daemon.stores.migrations import POSTGRES, read_migrations
from daemon.stores.postgres.connection import PostgresConnection

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from daemon.stores.postgres.connection import Db
    from daemon.stores.postgres.timelines import Timelines

CLAIM_MAX = 256
RENEWALS = 5
LEAVE_S = 2.0
_log = structlog.get_logger("penstock")

_ALIVE = "SELECT epoch FROM daemons WHERE epoch = $1 FOR KEY SHARE"
_EPOCH = "UPDATE epochs SET last = last + 1 WHERE sole RETURNING last"
_JOIN = (
    "INSERT INTO daemons (epoch, name, held_from, until) "
    "VALUES ($1, $2, clock_timestamp(), clock_timestamp() + make_interval(secs => $3))"
)
_RENEW = (
    "UPDATE daemons SET until = clock_timestamp() + make_interval(secs => $2), "
    "held_from = CASE WHEN until < clock_timestamp() THEN clock_timestamp() ELSE held_from END "
    "WHERE epoch = $1 AND name = $3 RETURNING (SELECT max(coalesce(rolls_from, number)) FROM migrations)"
)
_LEAVE = "DELETE FROM daemons WHERE epoch = $1"
# After a cut, such as a restart of the database, a daemon first lets the others renew.
_REMOVE_EXPIRED = (
    "DELETE FROM daemons WHERE epoch IN (SELECT epoch FROM daemons WHERE until < clock_timestamp() AND epoch <> $1 "
    "AND EXISTS (SELECT 1 FROM daemons AS own WHERE own.epoch = $1 AND own.until > clock_timestamp() "
    "AND own.held_from < clock_timestamp() - make_interval(secs => $2)) FOR UPDATE SKIP LOCKED) RETURNING epoch"
)
# The epochs that some outstanding work is held by, each found by one step in the index.
HOLDERS = """
WITH RECURSIVE holders AS (
    (SELECT epoch FROM runs WHERE NOT resting ORDER BY epoch LIMIT 1)
    UNION ALL
    SELECT (SELECT runs.epoch FROM runs WHERE NOT resting AND runs.epoch > holders.epoch ORDER BY runs.epoch LIMIT 1)
    FROM holders WHERE holders.epoch IS NOT NULL
)
SELECT epoch FROM holders WHERE epoch IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM daemons WHERE daemons.epoch = holders.epoch
)
"""
_CLAIM = """
UPDATE runs SET epoch = $1, claimed = version FROM (
    SELECT company_id, id FROM runs
    WHERE NOT resting AND epoch = ANY($2::bigint[])
    ORDER BY company_id, id LIMIT $3 FOR UPDATE SKIP LOCKED
) AS left_over
WHERE runs.company_id = left_over.company_id AND runs.id = left_over.id
RETURNING runs.company_id, runs.id
"""


# The same of runs at rest of which something is due.
_DUE_HOLDERS = """
WITH RECURSIVE holders AS (
    (SELECT epoch FROM runs WHERE wake_at IS NOT NULL ORDER BY epoch LIMIT 1)
    UNION ALL
    SELECT (
        SELECT runs.epoch FROM runs WHERE wake_at IS NOT NULL AND runs.epoch > holders.epoch ORDER BY runs.epoch LIMIT 1
    )
    FROM holders WHERE holders.epoch IS NOT NULL
)
SELECT epoch FROM holders WHERE epoch IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM daemons WHERE daemons.epoch = holders.epoch
)
"""
_CLAIM_DUE = """
UPDATE runs SET epoch = $1 FROM (
    SELECT company_id, id FROM runs
    WHERE resting AND epoch = ANY($2::bigint[]) AND wake_at <= $4
    ORDER BY wake_at LIMIT $3 FOR UPDATE SKIP LOCKED
) AS left_over
WHERE runs.company_id = left_over.company_id AND runs.id = left_over.id
"""


class Fenced(StoreFailed):
    """This daemon's lease has ended: it may write nothing more."""

    def __init__(self) -> None:
        super().__init__("Another daemon has taken over from this one; nothing was written.", "not_applied")


async def join(db: Db, name: str, lease_s: float) -> int:
    async with db.transaction():
        epoch: int = await db.fetchval(_EPOCH)
        await db.execute(_JOIN, epoch, name, lease_s)
    return epoch


async def remove_expired(db: Db, epoch: int, held_s: float) -> Sequence[int]:
    """End expired leases, if this one has been held for that long; returns their epochs."""
    return [row[0] for row in await db.fetch(_REMOVE_EXPIRED, epoch, held_s)]


async def alive(db: Db, epoch: int) -> None:
    """Lock this daemon's lease until the transaction ends; Fenced when it is gone."""
    if await db.fetchval(_ALIVE, epoch) is None:
        raise Fenced


async def claim(db: Db, epoch: int) -> Sequence[tuple[str, str]]:
    """Take over at most CLAIM_MAX unfinished runs of dead daemons; returns their keys."""
    gone = [row[0] for row in await db.fetch(HOLDERS)]
    if not gone:
        return []
    async with db.transaction():
        await alive(db, epoch)
        rows = await db.fetch(_CLAIM, epoch, gone, CLAIM_MAX)
    return sorted((row[0], row[1]) for row in rows)


async def claim_due(db: Db, epoch: int, by: str) -> None:
    """Take over runs at rest of dead daemons of which something is due by then."""
    gone = [row[0] for row in await db.fetch(_DUE_HOLDERS)]
    if gone:
        async with db.transaction():
            await alive(db, epoch)
            await db.execute(_CLAIM_DUE, epoch, gone, CLAIM_MAX, by)


class Lease:
    """This daemon's lease, renewed a few times within its length."""

    def __init__(
        self,
        url: str,
        name: str,
        lease_s: float,
        lost: Callable[[], None],
        superseded: Callable[[], None] = lambda: None,
        *,
        timelines: Timelines | None = None,
    ) -> None:
        """`lost` is called once, when another daemon has taken over.

        `superseded` is called instead when a newer version has migrated the database.
        """
        self._superseded = superseded
        self._schema = len(read_migrations(POSTGRES))
        self._connection = PostgresConnection(url, timelines=timelines)
        self._name = name
        self._lease_s = lease_s
        self._lost = lost
        self._until = 0.0
        self._over = False
        self.epoch = 0
        self.seen: StoreState = "ok"

    @property
    def held(self) -> bool:
        """Whether no other daemon can have taken over yet, by this machine's clock."""
        return not self._over and asyncio.get_running_loop().time() < self._until

    async def join(self) -> None:
        began = asyncio.get_running_loop().time()
        self.epoch = await self._connection.use(lambda db: join(db, self._name, self._lease_s), writing=True)
        self._until = began + self._lease_s
        _log.info("lease_acquired", epoch=self.epoch, name=self._name)

    @property
    def every_s(self) -> float:
        return self._lease_s / RENEWALS

    async def keep(self) -> None:
        """Renew the lease and remove expired ones; an ended lease stays ended."""
        if self._over:
            return
        try:
            async with asyncio.timeout(self._lease_s):
                await self.renew()
        except (StoreFailed, TimeoutError) as failure:
            self.seen = "full" if isinstance(failure, DiskFull) else "failed"
            _log.warning("lease_renewal_failed", reason=str(failure) or "it took too long")

    async def renew(self) -> None:
        """Renew once, and end the expired leases of others."""
        began = asyncio.get_running_loop().time()
        schema = await self._connection.use(lambda db: db.fetchval(_RENEW, self.epoch, self._lease_s, self._name))
        if schema is None:
            self.fence()
            return
        if schema > self._schema:
            self._give_way(schema)
            return
        self._until, self.seen = began + self._lease_s, "ok"
        for epoch in await self._connection.use(lambda db: remove_expired(db, self.epoch, self._lease_s / 2)):
            _log.warning("daemon_gone", epoch=epoch, hint="its outstanding work is taken over")

    def fence(self) -> None:
        if not self._over:
            self._over = True
            _log.error("lease_lost", epoch=self.epoch, hint="this daemon stops; start it again")
            self._lost()

    def _give_way(self, schema: int) -> None:
        """What a newer version stores would look like tampering here: serve nothing more."""
        self._over, self.seen = True, "failed"
        hint = "a newer version has migrated the database; this daemon ends, start that version in its place"
        _log.error("schema_superseded", schema=schema, known=self._schema, hint=hint)
        self._superseded()

    async def close(self) -> None:
        """End the lease; when the database cannot be reached, it expires."""
        with suppress(StoreFailed, TimeoutError):
            async with asyncio.timeout(LEAVE_S):
                await self._connection.use(lambda db: db.execute(_LEAVE, self.epoch))
        await self._connection.close()
