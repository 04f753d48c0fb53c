"""A run is archived wholly or not at all, wherever the process dies; and what stays is verified."""

from __future__ import annotations

import asyncio
import secrets
import shutil
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from daemon.audit.sealer import Signer, read_public
from daemon.keys.commit_keys import CommitKeys
from daemon.keys.keyring import KeyRing, write_ring
from daemon.model.audit_events import Logged
from daemon.model.events.company import CompanyPolicy, PolicyChanged
from daemon.model.people.companies import POLICY
from daemon.stores.sqlite.store import SqliteStore
from daemon.verification.runs import verify_run
from daemon.verification.stores import verify_store
from tests.audit.archiving import DAYS, archive
from tests.audit.redacting import redact
from tests.histories import ACME, NOON, append, decide, start

DEATHS = ("before-begin", "before-commit", "after-commit")


@pytest.fixture(scope="module")
def due(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a run that is due, and one that goes on."""
    folder = tmp_path_factory.mktemp("due")
    write_ring(folder / "audit.keys", KeyRing("one", {"one": secrets.token_bytes(32)}))
    asyncio.run(_made(folder))
    return folder


async def _made(folder: Path) -> None:
    Signer(folder / "audit.keys", folder / "audit.pub", lambda: NOON)
    async with SqliteStore.open(folder / "penstock.db", clock=lambda: NOON) as store:
        await store.adopt()
        policy = CompanyPolicy(archive_after_days=DAYS)
        event = PolicyChanged(at=NOON, by="ann", before=CompanyPolicy(), after=policy, number=1, via="session")
        await store.put_setting(POLICY, Logged(ACME, event))
        begun = start("run-1", inputs={"member": "Grace"})
        await store.append(begun)
        await append(store, decide(begun.run))
        await store.append(start("run-2"))


def copied(due: Path, to: Path) -> Path:
    return shutil.copytree(due, to / "copy")


def rows(folder: Path) -> tuple[int, int]:
    """How many commits of the run have events, and how many archives are recorded."""
    with closing(sqlite3.connect(folder / "penstock.db")) as db:
        [there] = db.execute("SELECT count(*) FROM commits WHERE run_id = 'run-1' AND length(events) > 0").fetchone()
        [kept] = db.execute("SELECT count(*) FROM archived_runs").fetchone()
        return there, kept


def found(folder: Path) -> set[str]:
    keys = CommitKeys.open(folder / "commit.keys", create=False)
    known = read_public(folder / "audit.pub")
    return {one.kind for one in verify_store(folder / "penstock.db", known, commit_keys=keys)}


@pytest.mark.parametrize("point", DEATHS)
async def test_wherever_it_dies_a_run_is_there_or_its_archive_and_hashes_are(
    due: Path, tmp_path: Path, point: str
) -> None:
    folder = copied(due, tmp_path)
    child = await asyncio.create_subprocess_exec(sys.executable, "-m", "tests.audit.archiving", str(folder), point)
    assert await child.wait() == -9
    before = rows(folder)
    assert before == ((0, 1) if point == "after-commit" else (2, 0))
    files = list((folder / "archive" / ACME).iterdir())
    assert list(verify_run(files[0].read_bytes(), read_public(folder / "audit.pub"))) == []
    await archive(folder)
    assert rows(folder) == (0, 1)
    assert len(list((folder / "archive" / ACME).iterdir())) == 1
    assert found(folder) == set()


async def test_a_redacted_run_that_is_archived_verifies_and_stays_in_exports(due: Path, tmp_path: Path) -> None:
    folder = copied(due, tmp_path)
    await redact(folder)
    await archive(folder)
    assert found(folder) == set()
    async with SqliteStore.open(folder / "penstock.db") as store:
        [last] = await store.checkpoints(ACME, None, 1)
        assert len(await store.entries(ACME, 0, last.size)) == last.size


@pytest.mark.parametrize(
    ("tampering", "kinds"),
    [
        ("UPDATE commits SET events = x'', exact = NULL WHERE run_id = 'run-2'", {"chain", "snapshot"}),
        ("UPDATE commits SET events = x'7b7d' WHERE run_id = 'run-1' AND first_seq > 1", {"chain"}),
        ("DELETE FROM commits WHERE run_id = 'run-1' AND first_seq = 1", {"chain", "leaf"}),
        ("UPDATE runs SET status = 'cancelled' WHERE id = 'run-1'", {"run"}),
        ("UPDATE archived_runs SET form = replace(form, 'done', 'lost')", {"archive"}),
        ("DELETE FROM archived_runs", {"archive"}),
        ("DELETE FROM runs WHERE id = 'run-1'", {"run"}),
    ],
)
async def test_what_stays_of_an_archived_run_is_verified(
    due: Path, tmp_path: Path, tampering: str, kinds: set[str]
) -> None:
    folder = copied(due, tmp_path)
    await archive(folder)
    assert found(folder) == set()
    with closing(sqlite3.connect(folder / "penstock.db", isolation_level=None)) as db:
        db.execute(tampering)
    assert found(folder) == kinds
