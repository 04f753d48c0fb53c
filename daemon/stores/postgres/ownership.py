"""The part of the PostgreSQL store that is about other daemons: the lease, claims, and what they have committed."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import TYPE_CHECKING

import structlog

from actors.ports import StoreFailed
from daemon.stores.postgres import changes, lease
from daemon.stores.postgres.access import PostgresAccess

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from daemon.stores.postgres.notify import Hints

HEARD_MAX_S = 1.0
HEARD_LOOK_S = 0.01
_log = structlog.get_logger("penstock")


class PostgresSharing(PostgresAccess):
    """What the store of many daemons adds of this to all else."""

    hints: Hints

    @property
    def epoch(self) -> int:
        """The number of this daemon's life; no other ever had it."""
        return self.lease.epoch

    @property
    def held(self) -> bool:
        """Whether nobody can have taken over from this daemon yet."""
        return self.lease.held

    def tell(self, heard: Callable[[frozenset[str] | None], None]) -> None:
        """Have this called with the companies of which others have committed something; None when it may be any."""
        self.hints.tell(heard)

    async def claim(self) -> Sequence[tuple[str, str]]:
        """Take over the outstanding work of daemons that are gone, some runs at a time."""
        claimed: list[tuple[str, str]] = []
        while some := await self._taking(lambda db: lease.claim(db, self.lease.epoch)):
            claimed += some
        return claimed

    async def positions(self, companies: Collection[str]) -> dict[str, int]:
        """How far each of these companies has come."""
        return await self._read(lambda db: changes.positions(db, companies))

    async def versions(self, keys: Collection[tuple[str, str]]) -> dict[tuple[str, str], int]:
        """The version of each of these runs."""
        return await self._read(lambda db: changes.versions(db, keys))

    async def strayed(self) -> dict[tuple[str, str], int]:
        """The runs whose outstanding work is this daemon's and that another one has moved on."""
        return await self._read(lambda db: changes.strayed(db, self.lease.epoch))

    async def peers(self) -> frozenset[int]:
        """The epochs of the daemons that are alive."""
        return await self._read(lease.peers)

    async def clock(self) -> datetime:
        """The time by which all daemons go."""
        return await self._read(changes.clock)

    async def hear(self, since: datetime) -> None:
        """Note that this daemon knows of all tokens and connectors that were changed before that time."""
        await self._taking(lambda db: changes.hear(db, self.lease.epoch, since))

    async def _heard(self) -> None:
        """Wait until every other daemon knows what was changed just now; for one that does not look, not for long."""
        self.hints.alert()
        try:
            async with asyncio.timeout(HEARD_MAX_S):
                since = await self.clock()
                while not await self._read(  # noqa: ASYNC110 - the database has no event for it
                    lambda db: changes.heard(db, self.lease.epoch, since)
                ):
                    await asyncio.sleep(HEARD_LOOK_S)
        except (StoreFailed, TimeoutError):
            _log.warning("change_notification_failed", hint="each looks for itself, as soon as it can")

    async def accompanied(self) -> bool:
        """Whether another daemon holds its lease at this moment."""
        return await self._read(lambda db: lease.accompanied(db, self.lease.epoch))

    async def revoked_lately(self) -> dict[str, datetime]:
        """The tokens revoked within the last seconds, and when each would have expired."""
        rows = await self._read(changes.revoked_lately)
        return {token_id: datetime.fromisoformat(expires_at) for token_id, expires_at in rows}

    async def connected_lately(self) -> Sequence[str]:
        """The companies whose connectors were changed within the last seconds."""
        return await self._read(changes.connected_lately)

    async def hit(self, who: str, amount: int, window_s: float) -> float | None:
        """Count one of at most `amount` within that time; in how many seconds there is room, where there is none."""
        return await self._taking(lambda db: changes.hit(db, who, amount, window_s))
