"""Logs changes of key files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Protocol

from actors.ports import StoreFailed
from daemon.keys.consistency import announcement, compare
from daemon.keys.keyring import KeyFileRefused, mark, read_ring
from daemon.model import NextEvent
from daemon.model.audit_events import SERVICE, KeyPurpose, KeysChanged, KeysForm, LogEvent

LOOKED_S = 1.0
VIA = "service"


class KeyLog(Protocol):
    """The store, as far as changes of key files stand in it."""

    async def log_after(self, company_id: str, holding: str, following: NextEvent, /) -> None: ...


class KeyFileWatcher:
    """Logs changes of key files, once for all daemons.

    The entries have the ids of keys, and no user: a file does not tell who changed it.
    """

    def __init__(self, files: Mapping[KeyPurpose, Path], log: KeyLog, now: Callable[[], datetime]) -> None:
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

    async def look(self) -> None:
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
