"""Key rings in files, and whether daemons that share a database have the same ones.

Two key files belong together when one knows the current key of the other, so that a rotation may
reach the daemons in any order. The keys that wrap the companies' keys are always needed.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from actors.failpoints import reach
from daemon.model.audit_events import KeyPurpose, KeysChanged, KeysForm, LogEvent
from daemon.runtime.clock import new_id
from daemon.runtime.durable_files import as_owner, sync_folder, write_beside

KEY_BYTES = 32
OPEN_TO_OTHERS = 0o077
# A systemd credential belongs to root; its ACL for the service shows as group-readable.
OPEN_TO_ALL = 0o037


class KeyFileRefused(Exception):
    """The key file cannot be trusted or read; the text says why."""


@dataclass(frozen=True, slots=True)
class KeyRing:
    """Keys of 32 bytes by id, and the id of the current one."""

    current: str
    keys: dict[str, bytes]

    def rotated(self) -> KeyRing:
        key_id = new_id()
        return KeyRing(key_id, {**self.keys, key_id: secrets.token_bytes(KEY_BYTES)})

    def pruned(self) -> KeyRing:
        return KeyRing(self.current, {self.current: self.keys[self.current]})


def open_ring(path: Path, *, create: bool) -> tuple[KeyRing, bool]:
    """Read a key file, or create it; returns the ring and whether it was created."""
    made = create and not path.exists()
    if made:
        write_ring(path, KeyRing("", {}).rotated())
    return read_ring(path), made


def read_ring(path: Path) -> KeyRing:
    """Read a key file; KeyFileRefused when others can read it or it is invalid."""
    try:
        status = path.stat()
        if status.st_mode & (OPEN_TO_OTHERS if status.st_uid == os.geteuid() else OPEN_TO_ALL):
            raise KeyFileRefused(f"{path} can be read by others; make it 0600")
        content = json.loads(path.read_bytes())
        keys = {str(key_id): base64.b64decode(key, validate=True) for key_id, key in content["keys"].items()}
        current = str(content["current"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise KeyFileRefused(f"{path} is no readable key file: {error}") from error
    if current not in keys or any(len(key) < KEY_BYTES for key in keys.values()):
        raise KeyFileRefused(f"{path} names no key of at least {KEY_BYTES} bytes as the current one")
    return KeyRing(current, keys)


def check_owner(path: Path) -> None:
    """KeyFileRefused for a file of another user, who could change the keys; root may own it."""
    owner = path.stat().st_uid
    if owner not in (os.geteuid(), 0):
        raise KeyFileRefused(
            f"{path} belongs to the user {owner}; give it to the user of the service: chown, chmod 600"
        )


def change_ring(path: Path, change: Callable[[KeyRing], KeyRing]) -> KeyRing:
    """Change a key file under a lock; returns the new ring."""
    with as_owner(path.parent), _alone(path.parent):
        ring = change(read_ring(path))
        write_ring(path, ring)
    return ring


def mark(path: Path) -> tuple[int, int, int]:
    """Changes whenever the file is replaced, changes its mode, or disappears."""
    try:
        found = path.stat()
    except OSError:
        return 0, 0, 0
    return found.st_mtime_ns, found.st_ctime_ns, found.st_ino


def write_ring(path: Path, ring: KeyRing) -> None:
    """Replace a key file atomically and durably, readable by its owner only."""
    keys = {key_id: base64.b64encode(key).decode() for key_id, key in ring.keys.items()}
    beside = write_beside(path, json.dumps({"current": ring.current, "keys": keys}).encode(), 0o600)
    reach("key-file-written")
    beside.replace(path)
    sync_folder(path.parent)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise KeyFileRefused(f"{folder} cannot be opened: {error}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


SEALED = "sealed secrets in this database"


def announcement(purpose: KeyPurpose) -> str:
    """Text that only log entries about this purpose contain."""
    return f'"purpose":"{purpose}"'


def compare(ring: KeyRing, last: LogEvent | None, path: Path) -> None:
    """Raise KeyFileRefused when the ring shares no key with the latest entry of the log."""
    if isinstance(last, KeysChanged) and not belong_together(ring, last.after):
        raise KeyFileRefused(why_stranger(path, last.purpose))


def belong_together(ring: KeyRing, others: KeysForm) -> bool:
    """Whether one of the two knows the key that the other uses."""
    return others.current in ring.keys or ring.current in others.known


def missing(ring: KeyRing, needed: Iterable[str]) -> list[str]:
    return sorted(set(needed) - set(ring.keys))


def why_stranger(path: Path, purpose: KeyPurpose) -> str:
    return (
        f"{path} has no key ({purpose}) in common with the daemons that run on this database; "
        "give all of them the same key files"
    )


def why_lacking(path: Path | str, key_id: str, what: str) -> str:
    return f"{path} does not hold the key {key_id} of {what}; put that file back"
