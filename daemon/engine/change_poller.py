"""What other daemons change, polled and told by NOTIFY: rights, connectors, and runs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

import structlog

from actors.ports import StoreFailed
from daemon.actions.pauses import Pauses
from daemon.connectors.service import ConnectorService
from daemon.engine.assembly import Engine
from daemon.engine.ownership import SharedJournal
from daemon.identity.accounts import Identity
from daemon.identity.api_keys import ApiKeys
from daemon.runtime.clock import SKEW_MIN_S, skew_s, utc_now
from daemon.templates.catalog import Catalog

if TYPE_CHECKING:
    from datetime import datetime

    from daemon.stores.postgres.changes import PeerChanges
    from daemon.stores.postgres.store import PostgresStore

_log = structlog.get_logger("penstock")
FRESH_S = 0.7
"""Shorter than a change waits for daemons that do not look: `ACKNOWLEDGED_MAX_S` of the store."""


class ClockWatch:
    """Compares this machine's clock with the database's, by which leases and others are timed."""

    def __init__(
        self,
        limit_s: float,
        exceeded: Callable[[], None],
        show: Callable[[float], None] | None,
    ) -> None:
        """`exceeded` is called when both are apart by the limit, twice in succession."""
        self._limit_s, self._exceeded, self._show = limit_s, exceeded, show
        self._skewed, self._times = False, 0

    def compare(self, before: datetime, database: datetime, after: datetime) -> None:
        """Judge the database's time, read between two readings of this machine's clock."""
        ahead_s = skew_s(before, database, after)
        if self._show is not None:
            self._show(ahead_s)
        if self._skewed != (abs(ahead_s) >= SKEW_MIN_S):
            self._skewed = not self._skewed
            if self._skewed:
                _log.warning("clock_skewed", database_ahead_s=round(ahead_s, 1), hint="synchronize both by NTP")
            else:
                _log.info("clock_in_step")
        self._times = self._times + 1 if abs(ahead_s) >= self._limit_s else 0
        if self._times == 2:  # noqa: PLR2004 - once may be the moment in which a clock is set
            hint = "this daemon ends; synchronize both by NTP, and start it again"
            _log.error("clock_refused", database_ahead_s=round(ahead_s, 1), limit_s=self._limit_s, hint=hint)
            self._exceeded()


class Rights:
    """Looks for such changes, and acknowledges those that it knows.

    A change is answered when all other daemons have acknowledged it, or after a time. A daemon that
    was too slow for that has looked last before the change, so it looks again before it relies on
    what it knows.
    """

    def __init__(
        self,
        store: PostgresStore,
        identity: Identity,
        connector_service: ConnectorService,
        *,
        catalog: Catalog,
        api_keys: ApiKeys,
        pauses: Pauses,
        clocks: ClockWatch,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store, self._identity, self._connector_service = store, identity, connector_service
        self._catalog, self._api_keys, self._monotonic = catalog, api_keys, monotonic
        self._clocks = clocks
        self._pauses = pauses
        self._looking = asyncio.Lock()
        self._looked_at = float("-inf")

    async def ensure_fresh(self) -> None:
        """Know all that was answered before this call; StoreFailed where that cannot be."""
        now = self._monotonic()
        if now - self._looked_at < FRESH_S:
            return
        async with self._looking:
            if self._looked_at >= now:
                return  # a look that began after this call is over
            try:
                await self._look()
            except TimeoutError:
                raise StoreFailed("The database does not answer.", "not_applied") from None

    async def run_once(self) -> PeerChanges:
        """Apply ended sessions and keys, changed roles and connectors, and acknowledge them."""
        async with self._looking:
            return await self._look()

    async def _look(self) -> PeerChanges:
        began, before, found = self._monotonic(), utc_now(), await self._store.poll_changes()
        self._clocks.compare(before, found.at, utc_now())
        self._identity.sessions.apply(found.revocations, found.epochs, found.standings)
        self._identity.policies.apply(found.policies)
        self._identity.companies.apply_autonomies(found.autonomies)
        self._pauses.apply(found.pauses)
        self._identity.second_factors.apply(found.enrolments)
        self._identity.companies.apply(found.companies)
        self._catalog.forget(found.publications)
        self._api_keys.forget(found.key_deletions)
        for company_id in found.connectors:
            self._connector_service.forget(company_id)
        self._looked_at = began
        if found.noted:
            await self._store.acknowledge(found.at)
        return found


K = TypeVar("K")
Key = tuple[str, str]
POLL_S = 0.4
PAUSE_S = 0.1
"""How long a daemon that is told of changes again and again rests between two polls."""


class ChangePoller:
    """Asks the store what has changed since the last poll; anything new counts as changed."""

    def __init__(
        self,
        store: PostgresStore,
        engine: Engine,
        rights: Rights,
    ) -> None:
        assert isinstance(engine.journal, SharedJournal)  # noqa: S101 - as `build_engine` makes it for a shared store
        self._store, self._journal = store, engine.journal
        self._directory, self._dispatcher = engine.directory, engine.dispatcher
        self._feed, self._deliverer, self._notifier = engine.feed, engine.deliverer, engine.notifier
        self._rights = rights
        self._due = asyncio.Event()
        self._named: set[str] = set()
        self._all_due = False
        self._positions: dict[str, int] = {}
        self._versions: dict[Key, int] = {}
        self._strayed: dict[Key, int] = {}
        self._peers: frozenset[int] = frozenset()
        store.subscribe(self.notify, self._feed.claims_changed)

    def notify(self, companies: frozenset[str] | None) -> None:
        """Poll at once after a commit of others in a company followed here; None means any."""
        if companies is None:
            self._all_due = True
            self._due.set()
        elif followed := companies & self._followed():
            self._named |= followed
            self._due.set()

    async def run(self) -> None:
        """Poll all, then the companies of notifications until the next poll of all is due."""
        try:
            await self.poll()
            await self._follow(asyncio.get_running_loop().time() + POLL_S)
        except (StoreFailed, TimeoutError) as failure:
            _log.warning("change_poll_failed", reason=str(failure))
            await asyncio.sleep(POLL_S)

    async def poll(self) -> None:
        self._due.clear()
        self._named, self._all_due = set(), False
        found = await self._rights.run_once()
        await self._poll_peers(found)
        await self._poll_companies()
        await self._poll_runs()
        await self._poll_own_runs(found.strayed)

    async def poll_named(self) -> None:
        """Poll the companies that notifications have named, and nothing else."""
        self._due.clear()
        named, self._named = self._named, set()
        await self._poll_companies(named)
        await self._poll_runs(named)

    async def _follow(self, until: float) -> None:
        clock = asyncio.get_running_loop().time
        while True:
            await asyncio.sleep(PAUSE_S)
            with suppress(TimeoutError):
                async with asyncio.timeout_at(until):
                    await self._due.wait()
            if self._all_due or clock() >= until:
                return
            await self.poll_named()

    def _followed(self) -> set[str]:
        runs = self._feed.runs | self._dispatcher.runs
        companies = self._feed.companies | self._deliverer.companies | self._notifier.companies
        return companies | {company_id for company_id, _ in runs}

    async def _poll_peers(self, found: PeerChanges) -> None:
        """Take over the runs and webhooks of daemons that are gone."""
        gone, self._peers = self._peers - found.peers, found.peers
        if found.abandoned:
            await self._directory.recover()
        if gone:
            await self._deliverer.sweep()
            await self._notifier.sweep()

    async def _poll_companies(self, named: AbstractSet[str] | None = None) -> None:
        """Tell those who follow companies, of these or of all."""
        companies = self._feed.companies | self._deliverer.companies | self._notifier.companies
        companies = companies if named is None else companies & named
        found = await self._store.positions(companies) if companies else {}
        changed = _changed(found, self._positions)
        for company_id in changed:
            self._feed.notify(company_id)
            self._notifier.committed(company_id)
        for company_id in {*changed, *(named or ())}:  # deliveries that others have made are no commit
            self._deliverer.committed(company_id)
        self._positions = found if named is None else self._positions | found

    async def _poll_runs(self, named: AbstractSet[str] | None = None) -> None:
        """Tell those who follow runs, of these companies or of all."""
        keys = {key for key in self._feed.runs | self._dispatcher.runs if named is None or key[0] in named}
        found = await self._store.versions(keys) if keys else {}
        for key in _changed(found, self._versions):
            run = await self._store.load(*key)
            if run is not None:
                self._feed.publish(run, ())
                if run.ended is not None:
                    self._dispatcher.forget(*key)
        self._versions = found if named is None else self._versions | found

    async def _poll_own_runs(self, found: dict[Key, int]) -> None:
        """Wake own runs that others have moved on, that were claimed, or that are in doubt."""
        for key in _changed(found, self._strayed):
            if self._directory.under_way(key):
                del found[key]
            else:
                await self._directory.wake(key)
        self._strayed = found
        for key in (*self._journal.claimed, *self._journal.doubtful()):
            await self._directory.wake(key)


def _changed(found: Mapping[K, int], before: Mapping[K, int]) -> list[K]:
    return [key for key, number in found.items() if before.get(key) != number]
