"""The repositories over a database in memory, in the thread of the test: whatever needs no file and
no journal.
"""

from __future__ import annotations

import sqlite3
import weakref
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TypeVar

from daemon.keys.commit_keys import CommitKeys
from daemon.keys.keyring import KeyRing
from daemon.runtime.clock import utc_now
from daemon.stores.migrations import read_migrations
from daemon.stores.sqlite.database import SqliteDatabase, run
from daemon.stores.sqlite.engine import migrate
from daemon.stores.store import Store

T = TypeVar("T")


class MemoryRepositories(Store):
    shared = False

    def __init__(self, clock: Callable[[], datetime] = utc_now) -> None:
        self._clock = clock
        self.keys = CommitKeys(KeyRing("", {}).rotated())
        self.db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        weakref.finalize(self, self.db.close)
        migrate(self.db, read_migrations(), "")

    async def _read(self, query: Callable[[SqliteDatabase], Awaitable[T]]) -> T:
        return run(query, self.db, self.keys)

    async def _write(self, company_id: str, work: Callable[[SqliteDatabase], Awaitable[T]]) -> T:
        self.db.execute("BEGIN")
        with self.db:
            return run(work, self.db, self.keys)
