"""A value is redacted wholly or not at all, wherever the process dies; and what was not redacted by
the service is found.
"""

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
from daemon.model.retention.redaction import StoredLines, redacted
from daemon.stores.sqlite.store import SqliteStore
from daemon.verification.stores import verify_store
from tests.audit.redacting import redact
from tests.histories import NOON, append, decide, start

NAME = "Zora Quendolin"
DEATHS = ("before-begin", "before-commit", "after-commit")


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a run that ended."""
    folder = tmp_path_factory.mktemp("ended")
    write_ring(folder / "audit.keys", KeyRing("one", {"one": secrets.token_bytes(32)}))
    asyncio.run(_made(folder))
    return folder


async def _made(folder: Path) -> None:
    Signer(folder / "audit.keys", folder / "audit.pub", lambda: NOON)
    async with SqliteStore.open(folder / "penstock.db", clock=lambda: NOON) as store:
        await store.adopt()
        begun = start("run-1", inputs={"member": NAME, "amount": 4711})
        await store.append(begun)
        await append(store, decide(begun.run))


@pytest.fixture(scope="module")
def done(ended: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, redacted."""
    folder = shutil.copytree(ended, tmp_path_factory.mktemp("done") / "copy")
    asyncio.run(redact(folder))
    return folder


def found(folder: Path) -> set[str]:
    keys = CommitKeys.open(folder / "commit.keys", create=False)
    known = read_public(folder / "audit.pub")
    return {one.kind for one in verify_store(folder / "penstock.db", known, commit_keys=keys)}


@pytest.mark.parametrize("point", DEATHS)
async def test_wherever_it_dies_a_value_is_there_or_its_redaction_is_recorded(
    ended: Path, tmp_path: Path, point: str
) -> None:
    folder = shutil.copytree(ended, tmp_path / "copy")
    child = await asyncio.create_subprocess_exec(sys.executable, "-m", "tests.audit.redacting", str(folder), point)
    assert await child.wait() == -9
    with closing(sqlite3.connect(folder / "penstock.db")) as db:
        [recorded] = db.execute("SELECT count(*) FROM run_redactions").fetchone()
        [there] = db.execute("SELECT count(*) FROM commits WHERE instr(events, ?)", (NAME.encode(),)).fetchone()
    assert (recorded, there) == ((1, 0) if point == "after-commit" else (0, 1))
    assert found(folder) == set()


EVENTS = "UPDATE commits SET events = CAST(replace(CAST(events AS TEXT), ?, ?) AS BLOB) WHERE run_id = 'run-1'"


@pytest.mark.parametrize(
    ("old", "new", "kinds"),
    [
        ("4711", "4712", {"chain", "mac"}),
        ("request 31", "request 32", {"redaction", "mac"}),
        ('"$redacted":{"', '"$redacted":{"/inputs/nobody":"","', {"redaction", "mac"}),
    ],
)
def test_what_is_changed_in_a_redacted_commit_is_found(
    done: Path, tmp_path: Path, old: str, new: str, kinds: set[str]
) -> None:
    folder = shutil.copytree(done, tmp_path / "copy")
    assert found(folder) == set()
    with closing(sqlite3.connect(folder / "penstock.db")) as db, db:
        db.execute(EVENTS, (old, new))
    assert kinds <= found(folder)


def test_a_redaction_without_a_record_and_a_record_without_its_redaction_are_found(
    ended: Path, done: Path, tmp_path: Path
) -> None:
    forged, undone = (shutil.copytree(one, tmp_path / one.parent.name) for one in (ended, done))
    select = "SELECT version, first_seq, events, exact FROM commits WHERE run_id = 'run-1' ORDER BY version"
    with closing(sqlite3.connect(forged / "penstock.db")) as db, db:
        before = [StoredLines(*row) for row in db.execute(select)]
        for one in redacted(before, ["/inputs/member"], "", "somebody else", frozenset()).commits:
            change = "UPDATE commits SET events = ?, exact = ? WHERE run_id = 'run-1' AND version = ?"
            db.execute(change, (one.events, one.exact, one.version))
    assert {"redaction", "mac"} <= found(forged)
    with closing(sqlite3.connect(undone / "penstock.db")) as db, db:
        for lines in before:
            change = (
                "UPDATE commits SET events = ?, exact = ?, mac = substr(mac, 1, 32) WHERE run_id = ? AND version = ?"
            )
            db.execute(change, (lines.events, lines.exact, "run-1", lines.version))
    assert found(undone) == {"redaction"}
