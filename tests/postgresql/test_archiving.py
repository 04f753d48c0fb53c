"""Of several daemons one archives the runs of a company."""

from __future__ import annotations

import asyncio
import secrets
from datetime import timedelta
from typing import TYPE_CHECKING

from daemon.audit.sealer import Sealer, Signer, read_public
from daemon.keys.keyring import KeyRing, write_ring
from daemon.retention import ArchiveFiles, Archiver
from daemon.stores.postgres.store import PostgresStore
from daemon.verification.runs import verify_run
from daemon.verification.stores import verify_database
from tests.histories import ACME, NOON
from tests.postgres import KEYS
from tests.stores.contract.test_retention import DAYS, ask, ended, files

if TYPE_CHECKING:
    from pathlib import Path


def signer_of(folder: Path) -> Signer:
    write_ring(folder / "audit.keys", KeyRing("one", {"one": secrets.token_bytes(32)}))
    return Signer(folder / "audit.keys", folder / "audit.pub", lambda: NOON)


async def test_a_company_is_one_daemons_until_that_is_gone(url: str) -> None:
    async with PostgresStore.open(url, KEYS) as one:
        async with PostgresStore.open(url, KEYS) as other:
            assert await other.claim_archiving(ACME)
            assert not await one.claim_archiving(ACME)
            assert await other.claim_archiving(ACME)
        assert await one.claim_archiving(ACME)


async def test_two_that_archive_the_same_run_at_once_leave_one_file_that_is_recorded(url: str, tmp_path: Path) -> None:
    signer = signer_of(tmp_path)

    def archiver(store: PostgresStore) -> Archiver:
        later = NOON + timedelta(days=DAYS, seconds=1)
        return Archiver(store, Sealer(store, signer), ArchiveFiles(tmp_path / "archive"), lambda: later)

    async with PostgresStore.open(url, KEYS) as one:
        await one.adopt()
        await ask(one)
        for number in range(3):
            await ended(one, signer, f"run-{number}")
        async with PostgresStore.open(url, KEYS) as other:
            await asyncio.gather(*(archiver(store)._company(ACME, DAYS) for store in (one, other)))
        await archiver(one)._company(ACME, DAYS)  # whoever could not seal left it
        kept = [(await one.retained(ACME, f"run-{number}")).archived for number in range(3)]
        found = {file.read_bytes() for file in files(tmp_path)}
        assert len(found) == len(files(tmp_path)) == 3
        for archived in kept:
            assert archived is not None
            content = await archiver(one).content(archived)
            assert content in found
            assert list(verify_run(content, read_public(tmp_path / "audit.pub"))) == []
    keys = read_public(tmp_path / "audit.pub")
    assert await asyncio.to_thread(lambda: list(verify_database(url, keys, commit_keys=KEYS))) == []
