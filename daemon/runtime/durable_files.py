"""Files and folders that survive a power cut."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path


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
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(descriptor, mode)
        file.write(content)
        file.flush()
        os.fsync(descriptor)
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
