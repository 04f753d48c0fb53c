"""A past to tamper with: two companies on a real SQLite file, sealed several times, and
exported.
"""

from __future__ import annotations

import asyncio
import secrets
import shutil
import sqlite3
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from daemon.audit import evidence
from daemon.audit.evidence import run_evidence
from daemon.audit.sealer import Signer, read_public
from daemon.keys.commit_keys import FILE as COMMIT_KEYS
from daemon.keys.commit_keys import CommitKeys
from daemon.keys.keyring import KeyRing, write_ring
from daemon.model.audit_events import SERVICE
from daemon.model.evidence import StoredCheckpoint
from daemon.stores.sqlite.store import SqliteStore
from daemon.stores.store import Store
from tests.audit.scenario import RUNS, first_half, second_half
from tests.histories import ACME, NOON, OTHER


@dataclass(frozen=True)
class Past:
    """The store at its end and half-way, what was kept elsewhere, and the exports of both times."""

    database: Path
    earlier: Path
    keys: dict[str, bytes]
    signer: Signer
    kept: dict[str, StoredCheckpoint]
    service: StoredCheckpoint
    exports: dict[str, list[bytes]]
    earlier_exports: dict[str, list[bytes]]
    runs: dict[str, bytes]
    commit_keys: CommitKeys


def make(folder: Path, runs: int = RUNS) -> Past:
    """Let it happen."""
    write_ring(folder / "audit.keys", KeyRing("old", {"old": secrets.token_bytes(32)}).rotated())
    signer = Signer(folder / "audit.keys", folder / "audit.pub", lambda: NOON)
    asyncio.run(_half(folder, signer, partial(first_half, runs=runs)))
    earlier = folder / "earlier.db"
    shutil.copy(folder / "penstock.db", earlier)
    earlier_exports = asyncio.run(_exported(folder))
    asyncio.run(_half(folder, signer, partial(second_half, runs=runs)))
    exports, newest = asyncio.run(_exported(folder)), asyncio.run(_kept(folder))
    service = newest.pop(SERVICE)
    database, keys, evidenced = (
        folder / "penstock.db",
        read_public(folder / "audit.pub"),
        asyncio.run(_runs(folder, runs)),
    )
    commit_keys = CommitKeys.open(folder / COMMIT_KEYS, create=False)
    return Past(database, earlier, keys, signer, newest, service, exports, earlier_exports, evidenced, commit_keys)


async def _half(folder: Path, signer: Signer, happening: Callable[[Store, Signer], Awaitable[None]]) -> None:
    async with SqliteStore.open(folder / "penstock.db", clock=lambda: NOON) as store:
        await happening(store, signer)


async def _exported(folder: Path) -> dict[str, list[bytes]]:
    """What GET /audit/export answers, by company."""
    found = {}
    async with SqliteStore.open(folder / "penstock.db") as store:
        for company_id in (ACME, OTHER):
            checkpoints = await store.checkpoints(company_id, None, 1_000)
            size = checkpoints[0].size
            entries = await store.entries(company_id, 0, size)
            lines = [evidence.manifest(company_id, size), *map(evidence.entry_line, entries)]
            found[company_id] = [*lines, *map(evidence.checkpoint_line, checkpoints)]
    return found


async def _runs(folder: Path, runs: int) -> dict[str, bytes]:
    """What GET /process-runs/{id}/audit answers, by run."""
    found = {}
    async with SqliteStore.open(folder / "penstock.db") as store:
        for company_id, name in ((ACME, "ann"), (OTHER, "eve")):
            for run_id in (f"{kind}-{name}-{number}" for kind in ("run", "busy") for number in range(runs)):
                proven = await store.proven(company_id, run_id)
                assert proven is not None
                found[run_id] = run_evidence(run_id, proven).serialize()
    return found


async def _kept(folder: Path) -> dict[str, StoredCheckpoint]:
    async with SqliteStore.open(folder / "penstock.db") as store:
        return {company: (await store.checkpoints(company, None, 1))[0] for company in (ACME, OTHER, SERVICE)}


class Unguarded(sqlite3.Connection):
    """A connection without the triggers that refuse changes; closing puts them back."""

    def open(self) -> Unguarded:
        self._triggers = self.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
        for name, _ in self._triggers:
            self.execute(f"DROP TRIGGER {name}")
        return self

    def close(self) -> None:
        for _, statement in self._triggers:
            self.execute(statement)
        super().close()


def plain_copy(past: Past, to: Path, source: Path | None = None) -> sqlite3.Connection:
    """A copy of the database, to tamper with until it is closed."""
    shutil.copy(source or past.database, to)
    for leftover in (to.with_name(to.name + "-wal"), to.with_name(to.name + "-shm")):
        leftover.unlink(missing_ok=True)
    return sqlite3.connect(to, isolation_level=None, factory=Unguarded).open()
