"""A past to tamper with: two companies on a real SQLite file, sealed several times, and
exported.
"""

from __future__ import annotations

import asyncio
import secrets
import shutil
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from actors.core.run import Run
from daemon.audit import export
from daemon.audit.run_evidence import evidence
from daemon.audit.sealer import Sealer
from daemon.audit.signer import Signer, read_public
from daemon.keys.keyring import KeyRing, write_ring
from daemon.model.audit_events import Logged, LoggedIn, LoginRefused, Registered
from daemon.model.evidence import Checkpoint
from daemon.stores.sqlite.store import SqliteStore
from tests.histories import ACME, NOON, OTHER, account, change, decide, start, stored_connector, work

RUNS = 6


@dataclass(frozen=True)
class Past:
    """The store at its end and half-way, what was kept elsewhere, and the exports of both times."""

    database: Path
    earlier: Path
    keys: dict[str, bytes]
    signer: Signer
    kept: dict[str, Checkpoint]
    exports: dict[str, list[bytes]]
    earlier_exports: dict[str, list[bytes]]
    runs: dict[str, bytes]


def make(folder: Path) -> Past:
    """Let it happen."""
    write_ring(folder / "audit.keys", KeyRing("old", {"old": secrets.token_bytes(32)}).rotated())
    signer = Signer(folder / "audit.keys", folder / "audit.pub", lambda: NOON)
    asyncio.run(_first_half(folder, signer))
    earlier = folder / "earlier.db"
    shutil.copy(folder / "penstock.db", earlier)
    earlier_exports = asyncio.run(_exported(folder))
    asyncio.run(_second_half(folder, signer))
    exports, kept = asyncio.run(_exported(folder)), asyncio.run(_kept(folder))
    database, keys, runs = folder / "penstock.db", read_public(folder / "audit.pub"), asyncio.run(_runs(folder))
    return Past(database, earlier, keys, signer, kept, exports, earlier_exports, runs)


async def _first_half(folder: Path, signer: Signer) -> None:
    async with SqliteStore.open(folder / "penstock.db") as store:
        for company_id, name in ((ACME, "ann"), (OTHER, "eve")):
            email = f"{name}@{name}.test"
            joined = Registered(at=NOON, by=email, company=name, role="owner", user=name)
            await store.register(account(name, company_id, email), None, [Logged(company_id, joined)])
            await store.put_connector(stored_connector("chart-fetch", company_id), change(1, "chart-fetch", company_id))
            for number in range(RUNS):
                inputs = {"number": number, "share": 1.0, "name": f"Ünïted {number}"}
                await store.append(start(f"run-{name}-{number}", company_id, inputs=inputs))
                await store.append(start(f"busy-{name}-{number}", company_id, gates=()))
            await Sealer(store, signer).seal()


async def _second_half(folder: Path, signer: Signer) -> None:
    async with SqliteStore.open(folder / "penstock.db") as store:
        await store.log(Logged("", LoginRefused(at=NOON, by="nobody@nowhere.test")))
        for company_id, name in ((ACME, "ann"), (OTHER, "eve")):
            entered = LoggedIn(at=NOON, by=name, token="t", until=NOON)
            await store.log(Logged(company_id, entered))
            second = stored_connector("chart-fetch", company_id, 2)
            await store.put_connector(second, change(2, "chart-fetch", company_id))
            await store.put_connector(stored_connector("other", company_id), change(1, "other", company_id))
            await store.delete_connector(change(2, "other", company_id, gone=True))
            for number in range(RUNS):
                run = await _loaded(store, company_id, f"run-{name}-{number}")
                if number % 2:
                    await store.append(decide(run))
                busy = await _loaded(store, company_id, f"busy-{name}-{number}")
                for _ in range(number):
                    turn = replace(work(busy), resting=busy.resting)
                    await store.append(turn)
                    busy = turn.run
                await Sealer(store, signer).seal()


async def _loaded(store: SqliteStore, company_id: str, run_id: str) -> Run:
    run = await store.load(company_id, run_id)
    assert run is not None
    return run


async def _exported(folder: Path) -> dict[str, list[bytes]]:
    """What GET /audit/export answers, by company."""
    found = {}
    async with SqliteStore.open(folder / "penstock.db") as store:
        for company_id in (ACME, OTHER):
            checkpoints = await store.checkpoints(company_id, None, 1_000)
            size = checkpoints[0].size
            entries = await store.entries(company_id, 0, size)
            lines = [export.manifest(company_id, size), *map(export.entry_line, entries)]
            found[company_id] = [*lines, *map(export.checkpoint_line, checkpoints)]
    return found


async def _runs(folder: Path) -> dict[str, bytes]:
    """What GET /process-runs/{id}/audit answers, by run."""
    found = {}
    async with SqliteStore.open(folder / "penstock.db") as store:
        for company_id, name in ((ACME, "ann"), (OTHER, "eve")):
            for run_id in (f"{kind}-{name}-{number}" for kind in ("run", "busy") for number in range(RUNS)):
                proven = await store.proven(company_id, run_id)
                assert proven is not None
                found[run_id] = evidence(run_id, proven).written()
    return found


async def _kept(folder: Path) -> dict[str, Checkpoint]:
    async with SqliteStore.open(folder / "penstock.db") as store:
        return {company: (await store.checkpoints(company, None, 1))[0] for company in (ACME, OTHER)}


def plain_copy(past: Past, to: Path, source: Path | None = None) -> sqlite3.Connection:
    """A copy of the database, without what only keeps honest people from changing rows."""
    shutil.copy(source or past.database, to)
    for leftover in (to.with_name(to.name + "-wal"), to.with_name(to.name + "-shm")):
        leftover.unlink(missing_ok=True)
    with closing(sqlite3.connect(to, isolation_level=None)) as db:
        for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
            db.execute(f"DROP TRIGGER {name}")
    return sqlite3.connect(to, isolation_level=None)
