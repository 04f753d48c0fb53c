"""Files and folders that survive a power cut, and belong to the user of the service."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


class FolderRefused(ValueError):
    """Everybody on the machine could replace files of the folder; the text says what to do."""


def check_folder(folder: Path) -> None:
    """FolderRefused for a folder that others may write to."""
    if folder.stat().st_mode & stat.S_IWOTH:
        raise FolderRefused(f"{folder} can be written by every user of this machine: chmod 700 {folder}")


def make_folder(folder: Path) -> None:
    """Create a folder for its owner alone, and its parents; sync their names to disk."""
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)
        sync_folder(folder.parent)
        return
    # The parent may be unsynced and closed to us; then nothing can be done.
    with suppress(OSError):
        sync_folder(folder.parent)


def write_beside(path: Path, content: bytes, mode: int) -> Path:
    """Write and sync a new file that is to replace `path`; returns the new file."""
    beside = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, mode)
            file.write(content)
            file.flush()
            os.fsync(descriptor)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    return beside


def sync_folder(folder: Path) -> None:
    """Sync the names in a folder to disk; OSError names the folder."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(folder)) from None
    finally:
        os.close(descriptor)


@contextmanager
def as_owner(folder: Path) -> Iterator[None]:
    """Act as the owner of a folder, for root; any other user stays who they are.

    Root would follow a link in the folder to any file, and leave files that the owner cannot open.
    """
    owner = folder.stat() if folder.exists() else None
    if os.geteuid() != 0 or owner is None or owner.st_uid == 0:
        yield
        return
    group, groups = os.getegid(), os.getgroups()
    os.setgroups([owner.st_gid])
    os.setegid(owner.st_gid)
    os.seteuid(owner.st_uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(group)
        os.setgroups(groups)
