"""Which keys the service uses, written down in its own log whenever that has changed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Protocol

from actors.ports import StoreFailed
from daemon.audit.log import SERVICE, KeysChanged, KeysForm, LogEvent, Logged
from daemon.keymatch import announcement
from daemon.keyring import KeyFileRefused, KeyPurpose, mark, read_ring

LOOKED_S = 1.0
VIA = "service"


class KeyLog(Protocol):
    """The service's own log."""

    async def log(self, logged: Logged) -> None:
        """Add an event to a company's own log."""

    async def last_logged(self, company_id: str, holding: str) -> LogEvent | None:
        """The latest event of a company's own log whose JSON holds this text."""


class KeyWatch:
    """Looks at the key files; whoever changed one, and whether the service ran then, it stands in the log from then on.

    What is written are ids. Nobody can say who it was: a file tells no names.
    """

    def __init__(self, files: Mapping[KeyPurpose, Path], store: KeyLog, now: Callable[[], datetime]) -> None:
        """Watch these files; the first look compares with what the log says last."""
        self._files = files
        self._store = store
        self._now = now
        self._seen: dict[KeyPurpose, tuple[int, int, int]] = {}
        self._known: dict[KeyPurpose, KeysForm | None] = {}

    async def look(self) -> None:
        """Write down what has changed; what cannot be read or written now is looked at again."""
        for purpose, path in self._files.items():
            seen = mark(path)
            if seen == self._seen.get(purpose):
                continue
            try:
                ring = read_ring(path)
                await self._note(purpose, KeysForm(current=ring.current, known=tuple(ring.keys)))
            except (KeyFileRefused, StoreFailed):  # whoever needs the file or the store has said so
                continue
            self._seen[purpose] = seen

    async def follow(self) -> None:
        """Look every second."""
        while True:
            await asyncio.sleep(LOOKED_S)
            await self.look()

    async def _note(self, purpose: KeyPurpose, found: KeysForm) -> None:
        if purpose not in self._known:
            last = await self._store.last_logged(SERVICE, announcement(purpose))
            self._known[purpose] = last.after if isinstance(last, KeysChanged) else None
        before = self._known[purpose]
        if found != before:
            event = KeysChanged(after=found, at=self._now(), before=before, by="", purpose=purpose, via=VIA)
            await self._store.log(Logged(SERVICE, event))
            self._known[purpose] = found
