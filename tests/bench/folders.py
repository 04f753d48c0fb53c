"""Fills a data FOLDER for a COMPANY with so many parked RUNS, by the store's own code in large
transactions, sealed.

Some of their ids, at random, are left in the file `ids` beside the database.
"""

from __future__ import annotations

import asyncio
import gc
import os
import random
import shutil
import sqlite3
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from msgspec.structs import replace

from actors.core.decider import TurnResult, step
from actors.core.messages import RunStarted, Start
from actors.ports import Commit
from daemon.audit.sealer import PUBLIC, Signer
from daemon.keys.commit_keys import FILE as COMMIT_KEYS
from daemon.keys.commit_keys import CommitKeys
from daemon.runtime.clock import new_id, utc_now
from daemon.stores.sqlite.database import run as run_on
from daemon.stores.sqlite.journal import SqliteAppend, append_all
from daemon.stores.tables import audit
from daemon.templates.loading import shipped
from tests.bench.rivals.driving import INPUTS
from tests.bench.servers import serving

DATABASE = "penstock.db"
VERTICAL = "prior-auth"
AT_ONCE = 2_000
IDS_MAX = 20_000
FILLED_S = 480.0
# Nothing has to survive: a folder that was not finished is made again. The service sets its own
# when it opens it.
HURRIED = ("journal_mode = OFF", "synchronous = OFF", "cache_size = -131072", "locking_mode = EXCLUSIVE")


async def empty(folder: Path) -> tuple[str, str]:
    """A data folder with nothing in it but a company; returns its token and its id."""
    async with serving(folder) as service:
        return await service.register()


async def filled(source: Path, folder: Path, company_id: str, runs: int) -> float:
    """A copy of a data folder with so many runs in it, made by a process of its own; returns the
    seconds it took.
    """
    began = time.perf_counter()
    shutil.copytree(source, folder)
    arguments = (str(folder), company_id, str(runs))
    filling = await asyncio.create_subprocess_exec(sys.executable, "-m", "tests.bench.folders", *arguments)
    try:
        async with asyncio.timeout(FILLED_S):
            assert await filling.wait() == 0
    finally:
        if filling.returncode is None:
            filling.kill()
            await filling.wait()
    return time.perf_counter() - began


def parked(company_id: str) -> Commit:
    """The commit of a run that began as those of the load test do, and waits at its gate."""
    (entry,) = (one for one in shipped() if one.template.vertical == VERTICAL)
    message = Start(run_id=new_id(), company_id=company_id, by="bench@example.test", inputs=dict(INPUTS), at=utc_now())
    done = step(None, message, entry.template, {})
    assert isinstance(done, TurnResult)
    assert done.run.parked, done.run.status
    return Commit(done.run, done.events, done.run.resting)


def alike(one: Commit, count: int) -> Iterator[Commit]:
    """So many commits like this one, each of a run of its own."""
    first, *others = one.events
    assert isinstance(first, RunStarted)
    for _ in range(count):
        run_id = new_id()
        yield Commit(replace(one.run, id=run_id), (replace(first, run_id=run_id), *others), one.resting)


def fill(folder: Path, company_id: str, runs: int) -> None:
    """Write the runs and seal them, and have all of it on the disk in the end."""
    one, some, now = parked(company_id), random.Random(runs), utc_now()
    ids: list[str] = []
    keys = CommitKeys.open(folder / COMMIT_KEYS, create=False)
    with closing(sqlite3.connect(folder / DATABASE, isolation_level=None)) as db:
        for pragma in HURRIED:
            db.execute(f"PRAGMA {pragma}").fetchall()
        for begun in range(0, runs, AT_ONCE):
            appends = [SqliteAppend.from_commit(commit, now, keys) for commit in alike(one, min(AT_ONCE, runs - begun))]
            db.execute("BEGIN")
            append_all(db, appends)
            db.execute("COMMIT")
            ids += [append.commit.run.id for append in appends if some.random() * runs < 2 * IDS_MAX]
        seal(db, folder, keys)
    some.shuffle(ids)
    (folder / "ids").write_text("\n".join(ids[:IDS_MAX]), encoding="ascii")
    with (folder / DATABASE).open("rb") as file:
        os.fsync(file.fileno())


def seal(db: sqlite3.Connection, folder: Path, keys: CommitKeys) -> None:
    """Give every commit its leaf, so that the service has nothing to catch up with."""
    signer = Signer(folder / "audit.keys", folder / PUBLIC, utc_now)
    db.execute("BEGIN")
    while run_on(lambda one: audit.seal(one, signer.sign, None), db, keys).commits:
        pass
    db.execute("COMMIT")


if __name__ == "__main__":
    gc.freeze()
    gc.disable()  # nothing here is a cycle
    fill(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
