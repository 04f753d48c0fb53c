"""The PostgreSQL store, shared by several daemons; it commits in groups for each company."""

from __future__ import annotations

import asyncio
import os
import socket
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast
from zlib import crc32

import structlog

from actors.ports import INLINE, CommittedRun, StoreFailed
from daemon.model import LostHistory, StoreState
from daemon.model.audit_events import HistoryRewound, Logged
from daemon.model.chain import HistoryBroken
from daemon.model.evidence import SEAL_MAX
from daemon.runtime.background import Background, Loop
from daemon.runtime.clock import utc_now
from daemon.stores.database import read
from daemon.stores.group_commit import BATCH_MAX, BatchLoader, Writer
from daemon.stores.postgres import changes, journal
from daemon.stores.postgres.changes import LISTEN_S, NOTIFY_PAUSE_S, Notifications
from daemon.stores.postgres.connection import PostgresConnection, check_sessions
from daemon.stores.postgres.database import PostgresDatabase
from daemon.stores.postgres.engine import PostgresEngine, Work
from daemon.stores.postgres.journal import OwnedRun, PostgresAppend
from daemon.stores.postgres.lease import Fenced, Lease, claim, claim_due
from daemon.stores.postgres.migrations import MIGRATE_S, check_moved, is_migrated, migrate, tend_months
from daemon.stores.postgres.timelines import Acknowledgements, LostCommits, Timelines
from daemon.stores.rows import iso
from daemon.stores.store import Store
from daemon.stores.tables import audit, receipts, runs
from daemon.stores.tables.commit_macs import Adopt, settle

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
    from datetime import date, datetime
    from pathlib import Path

    from actors.ports import Commit, Compute, Receipt
    from daemon.keys.commit_keys import CommitKeys
    from daemon.model import DueRun, Ownership
    from daemon.model.evidence import Sign
    from daemon.model.inbox import Claim
    from daemon.observability.metrics import Metrics
    from daemon.stores.database import Key
    from daemon.stores.postgres.connection import Db

T = TypeVar("T")
READERS = 3
WRITERS = 4
IDLE_S = 30.0
LEASE_S = 5.0
FAILOVER_PAUSE_S = 0.1
ACKNOWLEDGED_MAX_S = 1.0
ACKNOWLEDGED_LOOK_S = 0.01
_WORST_FIRST: tuple[StoreState, ...] = ("failed", "stalled", "full", "ok")
_log = structlog.get_logger("penstock")


class PostgresStore(Store):
    """The durable store of many processes; make it with `PostgresStore.open`.

    Each company's writes use one of a few connections, so that they wait for its clock only once.
    """

    failed = False

    shared = True

    def __init__(
        self,
        url: str,
        lease: Lease,
        notifications: Notifications,
        keys: CommitKeys,
        timelines: Timelines,
        *,
        clock: Callable[[], datetime],
        metrics: Metrics | None,
    ) -> None:
        self.lease = lease
        self.adopted = 0
        self._keys = keys
        self.notifications = notifications
        self._clock = clock
        self._metrics = metrics
        self._timelines = timelines
        self._acknowledged = Acknowledgements()
        self._told: set[str] = set()
        self._readers = [PostgresConnection(url, timelines=timelines) for _ in range(READERS)]
        self._writers: list[Writer[Any]] = []
        self._released = [*self._readers, notifications.sending]
        self._loader = BatchLoader(self._load_all)
        self._receipts = BatchLoader(self._load_receipts, READERS, named=("company_id",))

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        url: str,
        keys: CommitKeys,
        *,
        adopt: Adopt = "none",
        batch_max: int = BATCH_MAX,
        lease_s: float = LEASE_S,
        on_failed: Callable[[], None] = lambda: None,
        on_superseded: Callable[[], None] | None = None,
        on_rewound: Callable[[LostHistory], None] = lambda _: None,
        beside_others: bool = False,
        timeline_file: Path | None = None,
        metrics: Metrics | None = None,
        background: Background | None = None,
        compute: Compute = INLINE,
        clock: Callable[[], datetime] = utc_now,
    ) -> AsyncIterator[PostgresStore]:
        """Join the daemons and migrate as needed; StoreFailed or SchemaMismatch say why not.

        `adopt` gives MACs to commits without one. `on_rewound` is called where the database has
        failed over and lost commits that were acknowledged: nothing in memory counts any more.
        """
        timelines = Timelines(timeline_file)
        name = f"{socket.gethostname()}:{os.getpid()}"
        lease = Lease(url, name, lease_s, on_failed, on_superseded or on_failed, timelines=timelines)
        notifications = Notifications(url, timelines)
        store = cls(url, lease, notifications, keys, timelines, clock=clock, metrics=metrics)
        store._compute = compute
        async with AsyncExitStack() as stack:
            for connection in store._readers:
                stack.push_async_callback(connection.close)
            await check_sessions(url)
            if not await store._readers[0].use(is_migrated):
                migrating = PostgresConnection(url, timelines=timelines, command_s=MIGRATE_S)
                stack.push_async_callback(migrating.close)
                await migrating.use(partial(migrate, at=iso(clock()), beside_others=beside_others), writing=True)
                await migrating.close()
            await store._readers[0].use(check_moved)
            store.adopted, store.event_ids = await settle(store._together, keys, clock(), adopt)
            await lease.join()
            stack.push_async_callback(lease.close)
            stack.push_async_callback(notifications.close)
            kept = background or Background(stop=on_failed)
            kept.start(stack, Loop("lease", lease.keep, lease.every_s, at_once=False, vital=True))
            kept.start(stack, Loop("notify", notifications.send, NOTIFY_PAUSE_S))
            kept.start(stack, Loop("listen", notifications.listen, LISTEN_S))
            compare = partial(store.compare_history, on_rewound)
            kept.start(stack, Loop("failover", compare, FAILOVER_PAUSE_S))
            for _ in range(WRITERS):
                store._add_writer(url, stack, batch_max, on_failed)
            yield store

    def _add_writer(self, url: str, stack: AsyncExitStack, batch_max: int, on_failed: Callable[[], None]) -> None:
        connection = PostgresConnection(url, timelines=self._timelines)
        self._released.append(connection)
        stack.push_async_callback(connection.close)
        engine = PostgresEngine(
            connection,
            lambda: self.lease.epoch,
            self._keys,
            wrote=self.notifications.wrote,
            fenced=self.lease.fence,
            acknowledged=self._acknowledged.note,
            metrics=self._metrics,
        )
        self._writers.append(Writer(engine, batch_max=batch_max, on_failed=on_failed, metrics=self._metrics))
        stack.push_async_callback(self._writers[-1].close)

    async def compare_history(self, on_rewound: Callable[[LostHistory], None]) -> None:
        """Wait for a failover, and look for what was acknowledged and is not there any more.

        It is told at once by what needs no database, then to all companies together.
        """
        await self._timelines.risen.wait()
        with suppress(StoreFailed):
            lost = await self._read(lambda db: self._acknowledged.lost(db.connection))
            if not lost:
                self._timelines.risen.clear()
                return
            if self.lost is None:
                self.lost = LostHistory(self._clock(), sum(one.commits for one in lost), len(lost))
                if self._metrics is not None:
                    self._metrics.rewound(self.lost.commits)
            for failed in await asyncio.gather(*map(self._tell, lost), return_exceptions=True):
                if failed is not None:
                    raise failed
            on_rewound(self.lost)
            await asyncio.get_running_loop().create_future()  # until the service has begun anew

    async def _tell(self, one: LostCommits) -> None:
        """Tell a company once of what it has lost, in its log and by its webhooks."""
        if one.company_id in self._told:
            return
        _log.error("history_rewound", **one._asdict(), hint="the database has failed over; the service begins anew")
        rewound = HistoryRewound(at=self._clock(), commits=one.commits, first=one.first, via="failover")
        await self.log_rewound(Logged(one.company_id, rewound), rewound.at)
        self._told.add(one.company_id)

    async def ping(self) -> None:
        """Prove that the store can write; StoreFailed when it cannot."""
        await self._write("", _nothing)

    @property
    def state(self) -> StoreState:
        """The worst state that the writers and the last lease renewal have shown."""
        states = {self.lease.seen, *(writer.state for writer in self._writers)}
        return next(state for state in _WORST_FIRST if state in states)

    async def refresh_state(self) -> None:
        """Retry a write on the writers that failed; the lease is renewed anyway.

        Connections that nobody has used for IDLE_S are closed.
        """
        for writer in self._writers:
            if writer.state in {"full", "failed"}:
                with suppress(StoreFailed):
                    await writer.submit(Work("", _nothing))
        await asyncio.gather(*(one.release(IDLE_S) for one in self._released))

    async def append(self, commit: Commit) -> bytes:
        return (await self.append_owned(commit))[1]

    async def append_owned(self, commit: Commit) -> tuple[Ownership, bytes]:
        """Append a commit; returns who performs the outstanding work of the run, and the head."""
        encode = partial(PostgresAppend.from_commit, commit, self._clock(), self._keys)
        append = await self._encoded(commit, encode)
        performs = cast("Ownership", await self._writer(append.company_id).submit(append))
        return performs, append.head

    async def load_committed(self, company_id: str, run_id: str) -> CommittedRun | None:
        found = await self._loader.load((company_id, run_id))
        return None if found is None else CommittedRun(found.run, found.head)

    async def load_owned(self, company_id: str, run_id: str) -> OwnedRun | None:
        """The run as committed, and who performs its outstanding work."""
        return await self._loader.load((company_id, run_id))

    async def claim_gate(
        self, company_id: str, gate: tuple[str, str, int], claim: Claim, receipt: Receipt | None = None
    ) -> None:
        await super().claim_gate(company_id, gate, claim, receipt)
        self.notifications.claimed(company_id, gate[0])

    async def release_gate(self, company_id: str, gate: tuple[str, str, int]) -> None:
        await super().release_gate(company_id, gate)
        self.notifications.claimed(company_id, gate[0])

    async def receipt(self, company_id: str, path: str, key: str, otherwise: str = "") -> Receipt | None:
        return await self._receipts.load((company_id, path, key, otherwise))

    find = read(journal.find)

    async def due(self, by: datetime, limit: int) -> Sequence[DueRun]:
        """Runs that this daemon owns, with those of dead ones that it takes over now."""
        await self._read(lambda db: claim_due(db.connection, db.epoch, iso(by)))
        return await self._read(lambda db: runs.due_runs(db, by, limit))

    async def claim(self) -> Sequence[Key]:
        claimed: list[Key] = []
        while some := await self._read(lambda db: claim(db.connection, db.epoch)):
            claimed += some
        return claimed

    async def seal(self, sign: Sign, only: str | None = None) -> int:
        if only is not None:
            return await self._seal(only, sign, SEAL_MAX)
        total, after = 0, ""
        # The service's own log has no name, and comes first.
        companies: Sequence[str] = [""]
        while companies and total < SEAL_MAX:
            for company_id in companies:
                if total < SEAL_MAX:
                    total += await self._seal(company_id, sign, SEAL_MAX - total)
            after = companies[-1]
            companies = await self._read(partial(audit.companies_behind, after=after, limit=SEAL_MAX))
        return total

    async def _seal(self, company_id: str, sign: Sign, limit: int) -> int:
        return self._sealed(await self._write(company_id, lambda db: audit.seal_company(db, company_id, sign, limit)))

    async def drop_receipts(self, before: datetime) -> int:
        await self._write("", changes.drop_rates)
        return await super().drop_receipts(before)

    async def drop_reports(self, before: date) -> int:
        dropped = await super().drop_reports(before)
        await self._write("", partial(tend_months, today=self._clock().date(), before=before))
        return dropped

    # What is known of other daemons.

    positions = read(changes.positions)
    versions = read(changes.versions)
    database_time = read(changes.database_time)
    acknowledge = read(changes.acknowledge)
    hit = read(changes.hit)
    hits = read(changes.hits)
    has_peers = read(PostgresDatabase.has_peers)

    async def poll_changes(self) -> changes.PeerChanges:
        """What other daemons have changed; Fenced, and this one ends, where they took over."""
        try:
            return await self._read(changes.poll_changes)
        except Fenced:
            self.lease.fence()
            raise

    @property
    def epoch(self) -> int:
        """The number of this daemon's lease, never used before."""
        return self.lease.epoch

    @property
    def failovers(self) -> int:
        return self._timelines.rises

    @property
    def held(self) -> bool:
        """Whether no other daemon can have taken over, and the history is the one known here."""
        return self.lease.held and not self._timelines.risen.is_set()

    def subscribe(self, listener: Callable[[frozenset[str] | None], None], claimed: Callable[[str, str], None]) -> None:
        """Call `listener` with the companies that other daemons changed; None means any.

        `claimed` is called with each run of which a gate was claimed or released.
        """
        self.notifications.subscribe(listener, claimed)

    async def _await_peers(self) -> None:
        """Wait until the other daemons know the change, but not long for one that does not look.

        That one looks before it relies on what it knows, so the wait is never cut short.
        """
        self.notifications.alert()
        since: datetime | None = None
        try:
            async with asyncio.timeout(ACKNOWLEDGED_MAX_S):
                while True:
                    with suppress(StoreFailed):
                        since = since or await self.database_time()
                        if await self._read(partial(changes.acknowledged, since=since)):
                            return
                    await asyncio.sleep(ACKNOWLEDGED_LOOK_S)
        except TimeoutError:
            _log.warning("change_notification_failed", hint="each daemon looks for itself before it relies on rights")

    def _writer(self, company_id: str) -> Writer[Any]:
        return self._writers[crc32(company_id.encode()) % len(self._writers)]

    async def _write(self, company_id: str, work: Callable[[PostgresDatabase], Awaitable[T]]) -> T:
        return cast("T", await self._writer(company_id).submit(Work(company_id, work)))

    async def _together(self, work: Callable[[PostgresDatabase], Awaitable[T]]) -> T:
        """Run a work in a transaction before this daemon has joined the others."""

        async def begun(db: Db) -> T:
            async with db.transaction():
                return await work(PostgresDatabase(db, self._keys))

        return await self._readers[0].use(begun, writing=True)

    async def _read(self, query: Callable[[PostgresDatabase], Awaitable[T]]) -> T:
        """Run a query on the reader with the shortest queue."""
        reader = min(self._readers, key=lambda one: one.waiting)
        try:
            return await reader.use(lambda db: query(PostgresDatabase(db, self._keys, self.lease.epoch, self._compute)))
        except HistoryBroken as broken:
            self._broken(broken)
            raise
        except StoreFailed as failure:
            self._not_read("store_read_failed", str(failure), "read")
            raise
        except ValueError as error:
            self._not_read("store_read_failed", str(error), "read")
            raise StoreFailed(f"The store could not be read: {error}.", "not_applied") from error

    _load_all = read(journal.load_all)
    _load_receipts = read(receipts.receipts)


async def _nothing(db: PostgresDatabase) -> None:
    await db.value("SELECT 1")
