"""The part of the PostgreSQL store that is about other daemons: the lease, claims, and what they have committed."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any

import structlog

from actors.ports import StoreFailed
from daemon.stores import postgres_lease, postgres_news
from daemon.stores.postgres_access import PostgresAccess
from daemon.stores.postgres_link import HINTS, Link

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from daemon.stores.postgres_link import Db

RENEWALS = 5
HINT_PAUSE_S = 0.02
LISTEN_S = 1.0
HEARD_MAX_S = 1.0
HEARD_LOOK_S = 0.01
LEAVE_S = 2.0
_log = structlog.get_logger("penstock")


class Lease:
    """This daemon's lease: renewed on a connection of its own, a few times within its length."""

    def __init__(self, url: str, name: str, lease_s: float, lost: Callable[[], None]) -> None:
        """`lost` is called once, when another daemon has taken over from this one."""
        self._link = Link(url)
        self._name = name
        self._lease_s = lease_s
        self._lost = lost
        self._until = 0.0
        self._over = False
        self.epoch = 0

    @property
    def held(self) -> bool:
        """Whether nobody can have taken over yet, by this machine's own clock."""
        return not self._over and asyncio.get_running_loop().time() < self._until

    @property
    def over(self) -> bool:
        """Whether another daemon has taken over."""
        return self._over

    async def join(self) -> None:
        """Begin a life."""
        began = asyncio.get_running_loop().time()
        self.epoch = await self._link.use(lambda db: postgres_lease.join(db, self._name, self._lease_s), writing=True)
        self._until = began + self._lease_s
        _log.info("lease_held", epoch=self.epoch, name=self._name)

    async def keep(self) -> None:
        """Renew and bury for as long as the daemon lives."""
        while not self._over:
            await asyncio.sleep(self._lease_s / RENEWALS)
            try:
                async with asyncio.timeout(self._lease_s):
                    await self.renew()
            except (StoreFailed, TimeoutError) as failure:
                _log.warning("lease_not_renewed", reason=str(failure) or "it took too long")

    async def renew(self) -> None:
        """Renew once, and end the leases of others that have run out."""
        began = asyncio.get_running_loop().time()
        if not await self._link.use(lambda db: postgres_lease.renew(db, self.epoch, self._lease_s)):
            self.fence()
            return
        self._until = began + self._lease_s
        for epoch in await self._link.use(lambda db: postgres_lease.bury(db, self.epoch, self._lease_s / 2)):
            _log.warning("daemon_gone", epoch=epoch, hint="its outstanding work is taken over")

    def fence(self) -> None:
        """Take note that this daemon may do nothing more."""
        if not self._over:
            self._over = True
            _log.error("lease_lost", epoch=self.epoch, hint="this daemon stops; start it again")
            self._lost()

    async def close(self) -> None:
        """End this life, unless it was ended already; where the database is not to be reached the lease runs out."""
        with suppress(StoreFailed, TimeoutError):
            async with asyncio.timeout(LEAVE_S):
                await self._link.use(lambda db: postgres_lease.leave(db, self.epoch))
        await self._link.close()


class Hints:
    """Notifications of commits, sent apart from them, and those of others, heard."""

    def __init__(self, url: str) -> None:
        """Send and hear there."""
        self._sending = Link(url)
        self._hearing = Link(url, hints={**HINTS, "idle_session_timeout": "0"})
        self._changed: set[str] = set()
        self._for_all = False
        self._due = asyncio.Event()
        self._heard: Callable[[frozenset[str] | None], None] | None = None

    def wrote(self, company_id: str) -> None:
        """Something of this company was committed here."""
        self._changed.add(company_id)
        self._due.set()

    def alert(self) -> None:
        """Something was committed here that every daemon has to know of."""
        self._for_all = True
        self._due.set()

    def tell(self, heard: Callable[[frozenset[str] | None], None]) -> None:
        """Have this called with the companies of each hint."""
        self._heard = heard

    async def send(self) -> None:
        """Send hints for as long as the daemon lives; those of a moment together."""
        while True:
            await self._due.wait()
            self._due.clear()
            companies: set[str] = set() if self._for_all else self._changed
            self._changed, self._for_all = set(), False
            with suppress(StoreFailed):
                await self._sending.use(lambda db, told=companies: postgres_news.hint(db, told))  # type: ignore[misc]
            await asyncio.sleep(HINT_PAUSE_S)

    async def hear(self) -> None:
        """Listen for as long as the daemon lives, on another connection where one was lost."""
        while True:
            with suppress(StoreFailed):
                await self._hearing.use(self._listen)
            await asyncio.sleep(LISTEN_S)

    async def _listen(self, db: Db) -> None:
        await db.add_listener(postgres_news.CHANNEL, self._take)
        while not db.is_closed():
            await db.fetchval("SELECT 1")
            await asyncio.sleep(LISTEN_S)

    def _take(self, _db: Any, _pid: int, _channel: str, payload: object) -> None:
        if self._heard is not None:
            self._heard(postgres_news.hinted(str(payload)))

    async def close(self) -> None:
        """Let go of both connections."""
        await asyncio.gather(self._sending.close(), self._hearing.close())


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
        while some := await self._taking(lambda db: postgres_lease.claim(db, self.lease.epoch)):
            claimed += some
        return claimed

    async def positions(self, companies: Collection[str]) -> dict[str, int]:
        """How far each of these companies has come."""
        return await self._read(lambda db: postgres_news.positions(db, companies))

    async def versions(self, keys: Collection[tuple[str, str]]) -> dict[tuple[str, str], int]:
        """The version of each of these runs."""
        return await self._read(lambda db: postgres_news.versions(db, keys))

    async def strayed(self) -> dict[tuple[str, str], int]:
        """The runs whose outstanding work is this daemon's and that another one has moved on."""
        return await self._read(lambda db: postgres_news.strayed(db, self.lease.epoch))

    async def peers(self) -> frozenset[int]:
        """The epochs of the daemons that are alive."""
        return await self._read(postgres_lease.peers)

    async def clock(self) -> datetime:
        """The time by which all daemons go."""
        return await self._read(postgres_news.clock)

    async def hear(self, since: datetime) -> None:
        """Note that this daemon knows of all tokens and connectors that were changed before that time."""
        await self._taking(lambda db: postgres_news.hear(db, self.lease.epoch, since))

    async def _heard(self) -> None:
        """Wait until every other daemon knows what was changed just now; for one that does not look, not for long."""
        self.hints.alert()
        try:
            async with asyncio.timeout(HEARD_MAX_S):
                since = await self.clock()
                while not await self._read(  # noqa: ASYNC110 - the database has no event for it
                    lambda db: postgres_news.heard(db, self.lease.epoch, since)
                ):
                    await asyncio.sleep(HEARD_LOOK_S)
        except (StoreFailed, TimeoutError):
            _log.warning("others_may_not_have_heard", hint="each looks for itself, as soon as it can")

    async def accompanied(self) -> bool:
        """Whether another daemon holds its lease at this moment."""
        return await self._read(lambda db: postgres_lease.accompanied(db, self.lease.epoch))

    async def revoked_lately(self) -> dict[str, datetime]:
        """The tokens revoked within the last seconds, and when each would have expired."""
        rows = await self._read(postgres_news.revoked_lately)
        return {token_id: datetime.fromisoformat(expires_at) for token_id, expires_at in rows}

    async def connected_lately(self) -> Sequence[str]:
        """The companies whose connectors were changed within the last seconds."""
        return await self._read(postgres_news.connected_lately)

    async def hit(self, who: str, amount: int, window_s: float) -> float | None:
        """Count one of at most `amount` within that time; in how many seconds there is room, where there is none."""
        return await self._taking(lambda db: postgres_news.hit(db, who, amount, window_s))
