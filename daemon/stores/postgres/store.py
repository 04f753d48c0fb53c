"""The store in PostgreSQL, shared by any number of daemons: each commits in groups, company by company."""

from __future__ import annotations

import os
import socket
from collections import OrderedDict
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from actors.ports import StoreFailed, VersionConflict
from daemon.model import StoreState
from daemon.model.evidence import SEAL_MAX
from daemon.runtime.background import Background, Loop
from daemon.runtime.clock import utc_now
from daemon.stores.batch_loader import Loads
from daemon.stores.group_commit import BATCH_MAX, Writer
from daemon.stores.postgres import audit, journal
from daemon.stores.postgres.append import Append
from daemon.stores.postgres.company_log import last_logged, log, log_after
from daemon.stores.postgres.connection import Db, Link
from daemon.stores.postgres.engine import Appended, PostgresEngine, Work
from daemon.stores.postgres.lease import Lease
from daemon.stores.postgres.migrations import check_moved, migrate
from daemon.stores.postgres.notify import HINT_PAUSE_S, LISTEN_S, Hints
from daemon.stores.postgres.repositories import PostgresKeeping
from daemon.stores.postgres.webhook_store import PostgresTelling
from daemon.stores.rows import text

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence
    from datetime import datetime

    from actors.core.run import Run
    from actors.ports import Commit
    from daemon.model import Following, ParkedRun, Performs, Recorded, RunQuery
    from daemon.model.audit_events import LogEvent, Logged
    from daemon.model.evidence import Checkpoint, Entry, Proven, Sign
    from daemon.observability.metrics import Metrics
    from daemon.stores.postgres.journal import Standing

Key = tuple[str, str]

LANES = 4
LEASE_S = 5.0
HEADS_MAX = 50_000
_WORST_FIRST: tuple[StoreState, ...] = ("failed", "stalled", "full", "ok")


class PostgresStore(PostgresKeeping, PostgresTelling):
    """The durable store of many processes; make it with `PostgresStore.open`.

    Each company's writes go through one of a few connections, so that they stand in line for its clock only once.
    """

    failed = False

    shared = True

    def __init__(
        self, url: str, lease: Lease, hints: Hints, clock: Callable[[], datetime], metrics: Metrics | None
    ) -> None:
        super().__init__(url, clock, metrics)
        self.lease = lease
        self.hints = hints
        self._loads = Loads(self._standing)
        self._heads: OrderedDict[tuple[str, str, int], bytes] = OrderedDict()

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        url: str,
        *,
        batch_max: int = BATCH_MAX,
        lease_s: float = LEASE_S,
        on_failed: Callable[[], None] = lambda: None,
        metrics: Metrics | None = None,
        background: Background | None = None,
        clock: Callable[[], datetime] = utc_now,
    ) -> AsyncIterator[PostgresStore]:
        """Join the daemons on this database, migrated as needed; StoreFailed or SchemaMismatch say why it cannot be."""
        lease, hints = Lease(url, f"{socket.gethostname()}:{os.getpid()}", lease_s, on_failed), Hints(url)
        store = cls(url, lease, hints, clock, metrics)
        async with AsyncExitStack() as stack:
            for link in store._readers:
                stack.push_async_callback(link.close)
            await store._readers[0].use(lambda db: migrate(db, text(clock())), writing=True)
            await store._readers[0].use(check_moved)
            await lease.join()
            stack.push_async_callback(lease.close)
            stack.push_async_callback(hints.close)
            kept = background or Background(stop=on_failed)
            kept.keep(stack, Loop("lease", lease.keep, lease.every_s, at_once=False, vital=True))
            kept.keep(stack, Loop("hints-out", hints.send, HINT_PAUSE_S))
            kept.keep(stack, Loop("hints-in", hints.hear, LISTEN_S))
            for _ in range(LANES):
                link = Link(url)
                stack.push_async_callback(link.close)
                engine = PostgresEngine(
                    link, lambda: lease.epoch, wrote=hints.wrote, fenced=lease.fence, metrics=metrics
                )
                store._lanes.append(Writer(engine, batch_max=batch_max, on_failed=on_failed, metrics=metrics))
                stack.push_async_callback(store._lanes[-1].close)
            yield store

    async def ping(self) -> None:
        """Prove that the store can write; StoreFailed when it cannot."""
        await self._write("", _nothing)

    @property
    def state(self) -> StoreState:
        """Whether the store can write, as the lanes and the last renewal of the lease have shown."""
        states = {self.lease.seen, *(lane.state for lane in self._lanes)}
        found: list[StoreState] = [one for one in _WORST_FIRST if one in states]
        return found[0]

    async def look(self) -> None:
        """Have the lanes whose last write failed write again; the lease is renewed all the time."""
        for lane in self._lanes:
            if lane.state in {"full", "failed"}:
                with suppress(StoreFailed):
                    await lane.submit(cast("Any", Work("", _nothing)))

    async def append(self, commit: Commit) -> None:
        """Make a commit durable, or raise VersionConflict, ReceiptTaken or StoreFailed."""
        await self.append_standing(commit)

    async def append_standing(self, commit: Commit) -> Performs:
        """Make a commit durable; returns who performs what is outstanding behind it."""
        run, before = commit.run, None
        if commit.expected_version:
            before = await self._head(run.company_id, run.id, commit.expected_version)
        append = Append.of(commit, before, self._clock())
        performs = cast("Performs", await self._lane(run.company_id).submit(Appended(append)))
        self._remember((run.company_id, run.id, run.version), append.head)
        return performs

    async def load(self, company_id: str, run_id: str) -> Run | None:
        """The run as committed; None when the company has no such run."""
        found = await self._loads.load(company_id, run_id)
        return None if found is None else found.run

    async def load_standing(self, company_id: str, run_id: str) -> tuple[Run, Performs] | None:
        """The run as committed, and who performs what is outstanding."""
        found = await self._loads.load(company_id, run_id)
        if found is None:
            return None
        self._remember((company_id, run_id, found.run.version), found.head)
        return found.run, found.performs

    async def find(self, company_id: str, query: RunQuery) -> Sequence[Run]:
        """The runs that a query asks for."""
        return await self._read(lambda db: journal.find(db, company_id, query))

    async def history(self, company_id: str, run_id: str, after: int, limit: int) -> Sequence[Recorded]:
        """At most `limit` events of a run whose seq is greater than `after`."""
        return await self._read(lambda db: journal.history(db, company_id, run_id, after, limit))

    async def unfinished(self) -> Sequence[Key]:
        """The (company_id, run_id) of every run that is not at rest."""
        return await self._read(journal.unfinished)

    async def restless(self, after: Key, limit: int) -> Sequence[Key]:
        """At most `limit` runs behind a key that this daemon sees to and are not at rest, or wait for nobody."""
        return await self._read(lambda db: journal.restless(db, after, limit, self.lease.epoch))

    async def parked(self, after: Key, limit: int) -> Sequence[ParkedRun]:
        """At most `limit` runs behind a key that wait for a human, in order."""
        return await self._read(lambda db: journal.parked(db, after, limit))

    async def log(self, logged: Logged) -> None:
        """Add an event to a company's own log."""
        await self._write(logged.company_id, lambda db: log(db, logged))

    async def last_logged(self, company_id: str, holding: str) -> LogEvent | None:
        """The latest event of a company's own log whose JSON holds this text."""
        return await self._read(lambda db: last_logged(db, company_id, holding))

    async def log_after(self, company_id: str, holding: str, following: Following) -> None:
        """Add to a company's own log what follows on its latest event that holds this text."""
        await self._write(company_id, lambda db: log_after(db, self.epoch, company_id, holding, following))

    async def unsealed(self) -> int:
        """How many commits no checkpoint covers yet, or a few more."""
        return await self._read(audit.unsealed)

    async def seal(self, sign: Sign, only: str | None = None) -> int:
        """Give the next commits, of all or of one company, their leaves and a checkpoint; returns how many."""
        if only is not None:
            return await self._seal(only, sign, SEAL_MAX)
        total, after = 0, ""
        # The service's own log has no name, and comes first.
        companies: Sequence[str] = [""]
        while companies and total < SEAL_MAX:
            for company_id in companies:
                room = SEAL_MAX - total
                if room:
                    total += await self._seal(company_id, sign, room)
            after = companies[-1]
            companies = await self._read(partial(audit.due, after=after, limit=SEAL_MAX))
        return total

    async def _seal(self, company_id: str, sign: Sign, limit: int) -> int:
        return await self._write(company_id, partial(audit.seal, company_id=company_id, sign=sign, limit=limit))

    async def checkpoints(self, company_id: str, before: int | None, limit: int) -> Sequence[Checkpoint]:
        """At most `limit` checkpoints of a company, newest first, those of a size below `before`."""
        return await self._read(lambda db: audit.checkpoints(db, company_id, before, limit))

    async def proven(self, company_id: str, run_id: str, after: int = 0, limit: int | None = None) -> Proven | None:
        """The commits of a run with their proof; None as long as no checkpoint covers the last."""
        return await self._read(lambda db: audit.proven(db, company_id, run_id, after, limit))

    async def entries(self, company_id: str, first: int, end: int) -> Sequence[Entry]:
        """The commits under the leaves from a number up to another, which is not among them."""
        return await self._read(lambda db: audit.entries(db, company_id, first, end))

    async def logged(self, company_id: str, before: int | None, limit: int) -> Sequence[Entry]:
        """At most `limit` commits of a company's own log, newest first, those that begin before an event."""
        return await self._read(lambda db: audit.logged(db, company_id, before, limit))

    async def _head(self, company_id: str, run_id: str, version: int) -> bytes:
        """The head that a commit goes on from; VersionConflict when the run never was at that version."""
        head = self._heads.get((company_id, run_id, version))
        if head is None:
            head = await self._read(lambda db: journal.head_of(db, company_id, run_id, version))
        if head is None:
            raise VersionConflict("The run never was at this version.")
        return head

    def _remember(self, place: tuple[str, str, int], head: bytes) -> None:
        """Keep a head at hand: what a history was at a version, it is for ever."""
        self._heads[place] = head
        if len(self._heads) > HEADS_MAX:
            self._heads.popitem(last=False)

    async def _standing(self, keys: Sequence[Key]) -> dict[Key, Standing]:
        return await self._read(lambda db: journal.load_all(db, keys))


async def _nothing(db: Db) -> None:
    await db.fetchval("SELECT 1")
