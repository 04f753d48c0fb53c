"""The SQLite store: writes use one connection, in groups; reads use others."""

from __future__ import annotations

import sqlite3
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, TypeVar, cast

import structlog

from actors.ports import INLINE, StoreFailed
from daemon.keys.commit_keys import FILE, CommitKeys
from daemon.model import DiskFull
from daemon.model.chain import HistoryBroken
from daemon.runtime.clock import utc_now
from daemon.runtime.durable_files import make_folder
from daemon.stores.database import read
from daemon.stores.group_commit import BATCH_MAX, BatchLoader, Writer
from daemon.stores.migrations import read_migrations
from daemon.stores.rows import iso
from daemon.stores.sqlite import connection, journal
from daemon.stores.sqlite.backups import keep_before_migration
from daemon.stores.sqlite.database import run
from daemon.stores.sqlite.engine import SqliteEngine, Work, migrate
from daemon.stores.sqlite.errors import at_opening, check_room, check_sound, named, stopped_short
from daemon.stores.sqlite.upgrade import together, upgrade
from daemon.stores.store import Store
from daemon.stores.tables import audit
from daemon.stores.tables.commit_macs import Adopt, Settled, settle

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
    from datetime import datetime
    from pathlib import Path

    from actors.ports import Commit, CommittedRun, Compute
    from daemon.model import StoreState
    from daemon.model.evidence import Sign
    from daemon.observability.metrics import Metrics
    from daemon.stores.database import Work as DatabaseWork
    from daemon.stores.sqlite.database import SqliteDatabase

T = TypeVar("T")
READERS = 4
_log = structlog.get_logger()


class SqliteStore(Store):
    """The durable store of one process; make it with `SqliteStore.open`."""

    shared = False

    def __init__(
        self,
        writer: Writer[Work],
        readers: Sequence[connection.SqliteConnection],
        keys: CommitKeys,
        clock: Callable[[], datetime],
        *,
        settled: Settled,
        room: Callable[[], None] = lambda: None,
        metrics: Metrics | None = None,
    ) -> None:
        """`room` raises DiskFull when there is too little on the disk."""
        self.adopted, self.event_ids = settled
        self._room = room
        self._writer = writer
        self._readers = readers
        self._keys = keys
        self._loader = BatchLoader(self._load_all, len(readers))
        self._clock = clock
        self._metrics = metrics

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        path: Path,
        *,
        keys: CommitKeys | None = None,
        adopt: Adopt = "none",
        batch_max: int = BATCH_MAX,
        free_bytes_min: int = 0,
        on_failed: Callable[[], None] | None = None,
        metrics: Metrics | None = None,
        compute: Compute = INLINE,
        clock: Callable[[], datetime] = utc_now,
    ) -> AsyncIterator[SqliteStore]:
        """Open, make or migrate the database; StoreFailed or SchemaMismatch say why not.

        Without `keys` they are those of its folder; `adopt` gives MACs to commits without one.
        """
        async with AsyncExitStack() as stack:
            make_folder(path.parent)
            stack.enter_context(connection.locked(path.parent))
            connection.create(path)
            keys = keys or CommitKeys.open(path.with_name(FILE), create=True)
            unsure = stopped_short(path)
            writing, alone = await stack.enter_async_context(connection.opening(path))
            if alone:
                _log.warning("database_opened_exclusively", hint="free disk space, then restart")
            with at_opening(path):
                if unsure:
                    await writing.run(check_sound)
                kept = await writing.run(partial(keep_before_migration, database=path))
                if kept is not None:
                    _log.info("database_kept", path=str(kept), hint="as it was before the migration")
                await writing.run(lambda db: migrate(db, read_migrations(), iso(clock())))
                await writing.run(partial(upgrade, keys=keys))
                settled = await settle(partial(_together, writing, keys), keys, clock(), adopt)
            readers = [connection.reader(path, alone=alone) for _ in range(READERS)]
            reading = [await stack.enter_async_context(one) for one in readers]
            writer: Writer[Work] = Writer(
                SqliteEngine(writing, path, keys, free_bytes_min),
                batch_max=batch_max,
                on_failed=on_failed,
                metrics=metrics,
            )
            stack.push_async_callback(writer.close)
            room = partial(check_room, path.parent, free_bytes_min)
            store = cls(writer, reading, keys, clock, settled=settled, room=room, metrics=metrics)
            store._compute = compute
            yield store

    @property
    def failed(self) -> bool:
        return self._writer.failed

    async def ping(self) -> None:
        await self._write("", lambda db: db.execute("PRAGMA user_version = 0"))

    @property
    def state(self) -> StoreState:
        return self._writer.state

    async def refresh_state(self) -> None:
        """Check for room on the disk; after a failed write only another one can tell."""
        if self.state == "ok":
            try:
                await self._readers[0].run(lambda _: self._room())
            except DiskFull as full:
                self._writer.noticed("full")
                _log.warning("disk_full_detected", detail=str(full))
        elif self.state != "stalled":
            with suppress(StoreFailed):
                await self.ping()

    async def append(self, commit: Commit) -> bytes:
        encode = partial(journal.SqliteAppend.from_commit, commit, self._clock(), self._keys)
        append = await self._encoded(commit, encode)
        await self._writer.submit(append)
        return append.head

    async def load_committed(self, company_id: str, run_id: str) -> CommittedRun | None:
        return await self._loader.load((company_id, run_id))

    _load_all = read(journal.load_all)
    find = read(journal.find)

    claim = Store.unfinished  # only one process can open this file

    async def seal(self, sign: Sign, only: str | None = None) -> int:
        return self._sealed(await self._write(only or "", lambda db: audit.seal(db, sign, only)))

    async def _write(self, company_id: str, work: DatabaseWork[T]) -> T:  # noqa: ARG002 - one writer for all companies
        return cast("T", await self._writer.submit(work))

    async def _read(self, query: Callable[[SqliteDatabase], Awaitable[T]]) -> T:
        """Run a query on the reader with the shortest queue, on one state of the database."""
        reader = min(self._readers, key=lambda one: one.waiting)
        try:
            return await reader.run(lambda db: _at_one_point(db, query, self._keys))
        except HistoryBroken as broken:
            self._broken(broken)
            raise
        except (sqlite3.Error, ValueError) as error:
            detail = named(error) if isinstance(error, sqlite3.Error) else str(error)
            self._not_read("store_read_failed", detail, "read")
            raise StoreFailed(f"The store could not be read: {error}.", "not_applied") from error


async def _together(writing: connection.SqliteConnection, keys: CommitKeys, work: DatabaseWork[T]) -> T:
    return await writing.run(lambda db: together(db, lambda db: run(work, db, keys)))


def _at_one_point(db: sqlite3.Connection, query: Callable[[SqliteDatabase], Awaitable[T]], keys: CommitKeys) -> T:
    db.execute("BEGIN")
    try:
        return run(query, db, keys)
    finally:
        db.execute("COMMIT")
