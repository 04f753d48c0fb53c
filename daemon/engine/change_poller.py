"""What other daemons have done, brought to whoever waits for it here: asked for every moment, sooner after a hint."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import structlog

from actors.directory import Directory
from actors.ports import StoreFailed
from daemon.connectors.service import ConnectorService
from daemon.engine.dispatcher import Dispatcher
from daemon.engine.feed import Feed
from daemon.engine.ownership import SharedJournal
from daemon.identity.accounts import Identity
from daemon.model import SharedStore
from daemon.webhooks.deliverer import Deliverer

K = TypeVar("K")
Key = tuple[str, str]
POLL_S = 0.4
LEAST_S = 0.05
_log = structlog.get_logger("penstock")


@dataclass(frozen=True, slots=True)
class Listeners:
    """The parts of a daemon that have to hear of it."""

    journal: SharedJournal
    directory: Directory
    dispatcher: Dispatcher
    feed: Feed
    deliverer: Deliverer
    identity: Identity
    toolbox: ConnectorService


@dataclass(slots=True)
class ChangePoller:
    """Asks the store for what has changed since it asked last; what it sees for the first time counts as changed."""

    news: SharedStore
    told: Listeners
    _due: asyncio.Event = field(default_factory=asyncio.Event)
    _positions: dict[str, int] = field(default_factory=dict)
    _versions: dict[Key, int] = field(default_factory=dict)
    _strayed: dict[Key, int] = field(default_factory=dict)
    _peers: frozenset[int] = frozenset()

    def hint(self, companies: frozenset[str] | None) -> None:
        """Something of these companies, or of any, was committed."""
        if companies is None or not companies.isdisjoint(self._companies()):
            self._due.set()

    async def hear(self) -> None:
        """Ask once, then wait until it is time to ask again, or for a hint."""
        try:
            await self.look()
        except (StoreFailed, TimeoutError) as failure:
            _log.warning("others_not_heard", reason=str(failure))
            await asyncio.sleep(POLL_S)
        await asyncio.sleep(LEAST_S)
        await _within(POLL_S, self._due)

    async def look(self) -> None:
        """See what has changed, and tell who waits for it."""
        self._due.clear()
        await self._look_at_rights()
        await self._look_at_peers()
        await self._look_at_companies()
        await self._look_at_runs()
        await self._look_at_own()

    def _companies(self) -> set[str]:
        runs = self.told.feed.runs | self.told.dispatcher.runs
        return self.told.feed.companies | self.told.deliverer.companies | {company_id for company_id, _ in runs}

    async def _look_at_rights(self) -> None:
        """Tokens that were revoked and connectors that were changed; whoever did it waits until we know."""
        since = await self.news.clock()
        revoked, connected = await self.news.revoked_lately(), await self.news.connected_lately()
        self.told.identity.learn(revoked)
        for company_id in connected:
            self.told.toolbox.forget(company_id)
        if revoked or connected:
            await self.news.hear(since)

    async def _look_at_peers(self) -> None:
        """What one served who is gone is free now: its runs, and its webhooks."""
        peers, before = await self.news.peers(), self._peers
        self._peers = peers
        await self.told.directory.recover()
        if before - peers:
            await self.told.deliverer.sweep()

    async def _look_at_companies(self) -> None:
        asked = self.told.feed.companies | self.told.deliverer.companies
        found = await self.news.positions(asked) if asked else {}
        for company_id in _changed(found, self._positions):
            self.told.feed.ring(company_id)
            self.told.deliverer.committed(company_id)
        self._positions = found

    async def _look_at_runs(self) -> None:
        asked = self.told.feed.runs | self.told.dispatcher.runs
        found = await self.news.versions(asked) if asked else {}
        for key in _changed(found, self._versions):
            run = await self.news.load(*key)
            if run is not None:
                self.told.feed.publish(run, ())
                if run.ended is not None:
                    self.told.dispatcher.forget(*key)
        self._versions = found

    async def _look_at_own(self) -> None:
        """Runs of ours that others have moved on, that were claimed while their actor worked, or that are in doubt."""
        directory = self.told.directory
        found = await self.news.strayed()
        for key in _changed(found, self._strayed):
            if directory.under_way(key):
                del found[key]
            else:
                await directory.wake(key)
        self._strayed = found
        for key in (*self.told.journal.claimed, *self.told.journal.doubtful()):
            await directory.wake(key)


def _changed(found: Mapping[K, int], before: Mapping[K, int]) -> list[K]:
    return [one for one, number in found.items() if before.get(one) != number]


async def _within(seconds: float, event: asyncio.Event) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return
