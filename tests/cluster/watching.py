"""What the database itself says: who is alive, what is outstanding for whom, and whether a fenced
daemon ever wrote.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import asyncpg

from daemon.stores.migrations import POSTGRES

LOOK_S = 0.1
PATIENCE_S = 30.0
# Noted within the transaction of whoever writes, by what is committed at that moment: there must
# never be a row.
TRAP = """
CREATE TABLE fenced_writes (epoch bigint NOT NULL);
CREATE FUNCTION note_fenced() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM daemons WHERE epoch = NEW.moved_by) THEN
        INSERT INTO fenced_writes VALUES (NEW.moved_by);
    END IF;
    RETURN NULL;
END
$$;
CREATE CONSTRAINT TRIGGER fenced AFTER INSERT OR UPDATE OF version ON runs
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note_fenced();
"""


def broken_append(guard: str) -> str:
    """The function by which a daemon appends, without one of its guards, to be put in its place."""
    schema = (POSTGRES / "0021_version_0_2.sql").read_text(encoding="utf-8")
    function = schema[schema.index("CREATE FUNCTION penstock_append_2") :].partition("\n$$;\n")[0] + "\n$$;\n"
    assert guard in function
    return function.replace(guard, "", 1).replace("CREATE", "CREATE OR REPLACE", 1)


@dataclass
class Watch:
    """A look into the database, past all proxies."""

    url: str
    waits_s: list[float] = field(default_factory=list)

    async def trap(self) -> None:
        """Note each write of a daemon that is not alive any more."""
        await self.told(TRAP)

    async def fenced_writes(self) -> int:
        """How many there were."""
        return int(await self.asked("SELECT count(*) FROM fenced_writes"))

    async def epoch(self, pid: int) -> int:
        """The epoch of the daemon in a process."""
        found = await self.asked("SELECT max(epoch) FROM daemons WHERE name LIKE $1", f"%:{pid}")
        return 0 if found is None else int(found)

    async def taken_over(self, epoch: int, since: float) -> None:
        """Wait until nothing outstanding is that daemon's any more, and keep how long that took
        since it was gone.
        """
        outstanding = "SELECT count(*) FROM runs WHERE epoch = $1 AND NOT resting"
        with suppress(TimeoutError):  # the figure says so
            async with asyncio.timeout(PATIENCE_S):
                while await self.asked(outstanding, epoch):  # noqa: ASYNC110 - the database has no event for it
                    await asyncio.sleep(LOOK_S)
        self.waits_s.append(time.monotonic() - since)

    async def outstanding(self, epoch: int) -> int:
        """How many runs are that daemon's to go on with."""
        return int(await self.asked("SELECT count(*) FROM runs WHERE epoch = $1 AND NOT resting", epoch))

    async def settled(self) -> None:
        """Wait until every run rests."""
        async with asyncio.timeout(2 * PATIENCE_S):
            while await self.asked("SELECT count(*) FROM runs WHERE NOT resting"):  # noqa: ASYNC110 - as above
                await asyncio.sleep(LOOK_S)

    async def cut_backends(self) -> int:
        """End half of the daemons' connections, whatever they do at that moment."""
        return int(
            await self.asked(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
                "WHERE application_name = 'penstock' AND random() < 0.5"
            )
        )

    async def asked(self, statement: str, *args: Any) -> Any:
        """The one value that a statement gives; asked again while the database is not there."""
        while True:
            with suppress(OSError, asyncpg.PostgresConnectionError, asyncpg.OperatorInterventionError):
                db = await asyncpg.connect(self.url, timeout=5.0)
                try:
                    return await db.fetchval(statement, *args)
                finally:
                    await db.close()
            await asyncio.sleep(LOOK_S)

    async def told(self, statement: str) -> None:
        """Run statements."""
        db = await asyncpg.connect(self.url)
        try:
            await db.execute(statement)
        finally:
            await db.close()
