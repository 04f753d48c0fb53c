"""The files of archives: one for each run, named by its SHA-256."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from daemon.model.chain import digest, hash_of_text
from daemon.model.retention.records import Archived
from daemon.runtime.durable_files import make_folder, sync_folder, write_beside

MODE = 0o600
NAME_CHARS = 16


class ArchiveLost(Exception):
    """The file of an archive is not there, or is not the one that was written."""


class ArchiveFiles:
    """A folder with one for each company; daemons that share a database share it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, company_id: str, run_id: str, content: bytes) -> Path:
        """Write a file and its name to disk; the same content twice is one file."""
        path = self._path(company_id, run_id, sha256(content).hexdigest())
        make_folder(path.parent)
        write_beside(path, content, MODE).replace(path)
        sync_folder(path.parent)
        return path

    def read(self, archived: Archived) -> bytes:
        """What was archived; ArchiveLost for anything else."""
        form = archived.form
        path = self._path(archived.company_id, form.run_id, hash_of_text(form.sha256).hex())
        try:
            content = path.read_bytes()
        except OSError as error:
            raise ArchiveLost(f"{path} cannot be read: {error.strerror}") from error
        if digest(content) != form.sha256:
            raise ArchiveLost(f"{path} is not the file that was written")
        return content

    def drop_others(self, company_id: str, run_id: str, kept: Path) -> None:
        """Delete what attempts that came to nothing left of a run."""
        for path in self._of_run(company_id, run_id):
            if path != kept:
                self.drop(path)

    def drop(self, path: Path) -> None:
        with suppress(FileNotFoundError):
            path.unlink()

    def _of_run(self, company_id: str, run_id: str) -> Iterator[Path]:
        return self.folder.joinpath(company_id).glob(f"{run_id}.*")

    def _path(self, company_id: str, run_id: str, digest_hex: str) -> Path:
        return self.folder / company_id / f"{run_id}.{digest_hex[:NAME_CHARS]}.json"
