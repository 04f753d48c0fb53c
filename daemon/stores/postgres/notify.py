"""Notifies other daemons of commits; any notification may be lost."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from actors.ports import StoreFailed
from daemon.stores.postgres.connection import PLANNER, PostgresConnection

if TYPE_CHECKING:
    from collections.abc import Callable

    from daemon.stores.postgres.connection import Db

CHANNEL = "penstock"
PAYLOAD_BYTES_MAX = 7_000
NOTIFY_PAUSE_S = 0.02
LISTEN_S = 1.0


class Notifications:
    """NOTIFY of commits made here, outside their transactions since it locks; LISTEN to others."""

    def __init__(self, url: str) -> None:
        self._sending = PostgresConnection(url)
        self._listening = PostgresConnection(url, planner={**PLANNER, "idle_session_timeout": "0"})
        self._changed: set[str] = set()
        self._for_all = False
        self._due = asyncio.Event()
        self._listener: Callable[[frozenset[str] | None], None] | None = None

    def wrote(self, company_id: str) -> None:
        self._changed.add(company_id)
        self._due.set()

    def alert(self) -> None:
        """Have every daemon look."""
        self._for_all = True
        self._due.set()

    def subscribe(self, listener: Callable[[frozenset[str] | None], None]) -> None:
        self._listener = listener

    async def send(self) -> None:
        """Wait for a change and send it, with all others of that moment."""
        await self._due.wait()
        self._due.clear()
        named = json.dumps([] if self._for_all else sorted(self._changed))
        payload = named if len(named) <= PAYLOAD_BYTES_MAX else "[]"
        self._changed, self._for_all = set(), False
        try:
            with suppress(StoreFailed):
                await self._sending.use(lambda db: db.execute("SELECT pg_notify($1, $2)", CHANNEL, payload))
        except Exception:
            self.alert()  # it is not known of which: all have to look
            raise

    async def listen(self) -> None:
        """Listen, on a new connection when the last one was lost."""
        with suppress(StoreFailed):
            await self._listening.use(self._listen)

    async def _listen(self, db: Db) -> None:
        await db.add_listener(CHANNEL, self._take)
        await db.fetchval("SELECT 1")

    def _take(self, _db: Any, _pid: int, _channel: str, payload: object) -> None:
        if self._listener is not None:
            self._listener(frozenset(json.loads(str(payload))) or None)  # none named: it may be any

    async def close(self) -> None:
        await asyncio.gather(self._sending.close(), self._listening.close())
