"""Archives the runs of companies that ask for it, and keeps the files of archives."""

from __future__ import annotations

import asyncio
import base64
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import NamedTuple

import structlog

from actors.core.run import Run
from actors.ports import StoreFailed
from daemon.audit.evidence import run_evidence
from daemon.audit.sealer import Sealer
from daemon.model.actions import AAP_KEPT
from daemon.model.chain import HistoryBroken, digest, text_of_hash
from daemon.model.events.company import ArchiveForm, RunArchived
from daemon.model.evidence import Proof
from daemon.model.retention.records import Archived, Candidate, HistoryArchived, archive_form
from daemon.runtime.durable_files import make_folder, sync_folder, write_beside
from daemon.stores.store import Store
from daemon.verification.runs import verify_run

MODE = 0o600
TOKEN_BYTES = 4


class ArchiveLost(Exception):
    """The file of an archive is not there, or is not the one that was written."""


class ArchiveFiles:
    """A folder with one for each company; daemons that share a database share it."""

    def __init__(self, folder: Path | None) -> None:
        """Without a folder there are none, and none can be written."""
        self.folder = folder

    def write(self, company_id: str, run_id: str, content: bytes) -> Path:
        """Write a file and its name to disk.

        Each attempt has its own, so that one that comes to nothing deletes nobody else's.
        """
        path = self._of_company(company_id) / f"{run_id}.{secrets.token_hex(TOKEN_BYTES)}.json"
        make_folder(path.parent)
        write_beside(path, content, MODE).replace(path)
        sync_folder(path.parent)
        return path

    def read(self, archived: Archived) -> bytes:
        """What was archived; ArchiveLost where no file is that."""
        for path in self._of_run(archived.company_id, archived.form.run_id):
            with suppress(OSError):
                content = path.read_bytes()
                if digest(content) == archived.form.sha256:
                    return content
        raise ArchiveLost(f"there is no such archive of {archived.form.run_id}")

    def drop_others(self, company_id: str, run_id: str, kept: Path) -> None:
        """Delete what attempts that came to nothing left of a run."""
        for path in self._of_run(company_id, run_id):
            if path != kept:
                self.drop(path)

    def drop(self, path: Path) -> None:
        with suppress(FileNotFoundError):
            path.unlink()

    def _of_run(self, company_id: str, run_id: str) -> Iterator[Path]:
        return self._of_company(company_id).glob(f"{run_id}.*")

    def _of_company(self, company_id: str) -> Path:
        if self.folder is None:
            raise ArchiveLost("there is no folder of archives")
        return self.folder / company_id


LOOK_S = 3_600.0
BATCH_MAX = 20
BATCH_BYTES_MAX = 1024 * 1024
"""Runs that are archived in one transaction, under one checkpoint, and the bytes after which none
is added: the transaction writes zeros over all of them while nobody else writes.
"""
BEGINNING = Candidate("", "")
_log = structlog.get_logger("penstock")


class NotSound(Exception):
    """An archive that was written does not verify."""


class _File(NamedTuple):
    """A file that verifies, and what stays of its run."""

    path: Path
    form: ArchiveForm


class Archiver:
    """Writes what a run did to a file that verifies, and only then lets the events go."""

    def __init__(
        self,
        store: Store,
        sealer: Sealer,
        files: ArchiveFiles,
        now: Callable[[], datetime],
        least: timedelta = timedelta(0),
    ) -> None:
        """Runs stay `least` after their end in any case: as long as responses to repeats do.

        Without a folder for `files` nothing is archived.
        """
        self._store = store
        self._sealer = sealer
        self._files = files
        self._now = now
        self._least = least
        self._exports: Counter[str] = Counter()
        self._at_work = asyncio.Lock()

    @asynccontextmanager
    async def paused(self, company_id: str) -> AsyncIterator[None]:
        """Archive nothing of a company for a time: while all that it has is exported."""
        self._exports[company_id] += 1
        try:
            async with self._at_work:
                pass
            yield
        finally:
            self._exports -= Counter({company_id: 1})

    async def tick(self) -> None:
        """Archive what is due in each company that this daemon sees to."""
        try:
            found = await self._store.archiving_policies()
            if found and self._files.folder is None:
                _log.warning("archive_folder_unset", hint="set PENSTOCK_ARCHIVE_DIR; until then nothing is archived")
                return
            for stored in found:
                days = stored.value.archive_after_days
                if days is not None and await self._store.claim_archiving(stored.company_id):
                    await self._company(stored.company_id, days)
        except StoreFailed as failed:
            _log.error("archiving_deferred", reason=str(failed))

    async def _company(self, company_id: str, days: int) -> None:
        now, after = self._now(), BEGINNING
        before = now - max(timedelta(days=days), self._least)
        await self._sealer.seal(company_id)  # no run without a proof that a checkpoint covers its end
        acted = now - AAP_KEPT
        while found := await self._store.archivable(company_id, before, after, BATCH_MAX, actions_before=acted):
            async with self._at_work:
                if self._exports[company_id]:
                    return
                await self._archive(company_id, [one.run_id for one in found], days)
            after = found[-1]

    async def _archive(self, company_id: str, run_ids: Sequence[str], days: int) -> None:
        """Archive runs in transactions of bounded size."""
        files: list[_File] = []
        for run_id in run_ids:
            if (file := await self._file(company_id, run_id)) is not None:
                files.append(file)
            if files and (run_id == run_ids[-1] or sum(one.form.bytes for one in files) >= BATCH_BYTES_MAX):
                await self._keep(company_id, files, days)
                files = []

    async def _keep(self, company_id: str, files: Sequence[_File], days: int) -> None:
        """Archive runs in one transaction; those that changed or are held by now stay."""
        at = self._now()
        events = [RunArchived(at=at, after_days=days, form=one.form) for one in files]
        kept = await self._store.keep_archives(company_id, events, self._sealer.sign)
        for one in files:
            if one.form.run_id in kept:
                _log.info("run_archived", company_id=company_id, run_id=one.form.run_id, sha256=one.form.sha256)
                await asyncio.to_thread(self._files.drop_others, company_id, one.form.run_id, one.path)
            else:
                await asyncio.to_thread(self._files.drop, one.path)

    async def _file(self, company_id: str, run_id: str) -> _File | None:
        """The file of a run that has ended, unless its evidence is not sound."""
        try:
            run, proven = await self._store.load(company_id, run_id), await self._store.proven(company_id, run_id)
            if run is None or run.ended is None or proven is None or proven.last.version != run.version:
                return None
            return await asyncio.to_thread(self._written, run, proven)
        except (HistoryArchived, FileNotFoundError):  # by another daemon, just now, which drops others' files
            return None
        except (HistoryBroken, NotSound) as broken:
            _log.error("run_not_archived", company_id=company_id, run_id=run_id, reason=str(broken))
            return None

    def _written(self, run: Run, proven: Proof) -> _File:
        """The file as it reads from disk; NotSound when that does not verify."""
        path = self._files.write(run.company_id, run.id, run_evidence(run.id, proven).serialize())
        content = path.read_bytes()
        keys = {name: base64.b64decode(key) for name, key in self._sealer.keys().items()}
        wrong = next(iter(verify_run(content, keys)), None)
        if wrong is not None:
            self._files.drop(path)
            raise NotSound(f"its archive does not verify: {wrong}")
        return _File(path, archive_form(run, text_of_hash(proven.last.head), digest(content), len(content)))

    async def content(self, archived: Archived) -> bytes:
        """The file of an archive; ArchiveLost without it."""
        return await asyncio.to_thread(partial(self._files.read, archived))
