"""The files of archives: one for each run, known by its SHA-256."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from daemon.model.chain import digest
from daemon.model.retention.records import Archived
from daemon.runtime.durable_files import make_folder, sync_folder, write_beside

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
