"""Key files: opened when the service starts, compared with those of other daemons, and logged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from actors.ports import StoreFailed
from daemon.keys.keyring import (
    SEALED,
    KeyFileRefused,
    KeyRing,
    announcement,
    check_owner,
    compare,
    mark,
    missing,
    open_ring,
    read_ring,
    why_lacking,
)
from daemon.model.audit_events import SERVICE, KeyPurpose, KeysChanged, KeysForm, LogEvent
from daemon.runtime.clock import utc_now
from daemon.settings import KEY_FILES, Settings, key_files

if TYPE_CHECKING:
    from daemon.stores.postgres.store import PostgresStore
    from daemon.stores.store import Store

LOOKED_S = 1.0
PAGE = 256
VIA = "service"
_log = structlog.get_logger("penstock")


class KeyFileWatcher:
    """Logs changes of key files, once for all daemons.

    The entries have the ids of keys, and no user: a file does not tell who changed it.
    """

    def __init__(self, files: Mapping[KeyPurpose, Path], log: Store, now: Callable[[], datetime]) -> None:
        self._files = files
        self._log = log
        self._now = now
        self._seen: dict[KeyPurpose, tuple[int, int, int]] = {}
        self._known: dict[KeyPurpose, KeysForm] = {}

    async def begin(self) -> None:
        """Log changes at the start; KeyFileRefused if other daemons have other keys."""
        for purpose in self._files:
            with suppress(StoreFailed):  # on a full disk the service still reads; it is looked at again
                await self._note(purpose, joining=True)

    async def run_once(self) -> None:
        """Log changes; a failed read or write is retried at the next look."""
        for purpose, path in self._files.items():
            if mark(path) != self._seen.get(purpose):
                with suppress(KeyFileRefused, StoreFailed):  # whoever needs the file or the store has said so
                    await self._note(purpose, joining=False)

    async def _note(self, purpose: KeyPurpose, *, joining: bool) -> None:
        path = self._files[purpose]
        seen, ring = mark(path), read_ring(path)
        found = KeysForm(current=ring.current, known=tuple(ring.keys))

        def following(last: LogEvent | None, *, has_peers: bool) -> LogEvent | None:
            if joining and has_peers:
                compare(ring, last, path)
            before = last.after if isinstance(last, KeysChanged) else None
            if found == before:
                return None
            return KeysChanged(after=found, at=self._now(), before=before, by="", purpose=purpose, via=VIA)

        if found != self._known.get(purpose):
            await self._log.log_after(SERVICE, announcement(purpose), following)
        self._known[purpose], self._seen[purpose] = found, seen


async def open_key_files(
    settings: Settings, store: Store, shared: PostgresStore | None
) -> tuple[dict[KeyPurpose, KeyRing], KeyFileWatcher]:
    """The keys, compared with those of other daemons and logged before they are used.

    A file without a setting is created in the data folder.
    """
    files = key_files(settings)
    if shared is not None:
        await check(files, shared)
    rings = {}
    for purpose, path in files.items():
        rings[purpose], made = open_ring(path, create=getattr(settings, KEY_FILES[purpose]) is None)
        check_owner(path)
        if made:
            _log.warning("key_created", path=str(path), hint="keep a copy apart from the backups of the data folder")
    watcher = KeyFileWatcher(files, store, utc_now)
    await watcher.begin()
    return rings, watcher


async def check(files: Mapping[KeyPurpose, Path], others: PostgresStore) -> None:
    """Raise KeyFileRefused when a file is not that of the other daemons, or lacks a needed key."""
    rings = {purpose: read_ring(path) if path.exists() else KeyRing("", {}) for purpose, path in files.items()}
    if await others.has_peers():
        for purpose, ring in rings.items():
            compare(ring, await others.last_logged(SERVICE, announcement(purpose)), files[purpose])
    needed, after = set[str](), ""
    while page := await others.company_keys(rings["secrets"].current, after, PAGE):
        needed |= {key.key_id for key in page}
        after = page[-1].company_id
    for key_id in missing(rings["secrets"], needed):
        raise KeyFileRefused(why_lacking(files["secrets"], key_id, SEALED))
