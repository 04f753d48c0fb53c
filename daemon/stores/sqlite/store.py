"""The store in a SQLite file: all writes go through one connection, in groups; reads go through others."""

from __future__ import annotations

import sqlite3
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import structlog

from actors.ports import StoreFailed
from daemon.model import DiskFull
from daemon.model.chain import HistoryBroken
from daemon.runtime.clock import utc_now
from daemon.runtime.durable_files import make_folder
from daemon.stores.batch_loader import Loads, watched
from daemon.stores.group_commit import BATCH_MAX, Writer, drop_all
from daemon.stores.migrations import read_migrations
from daemon.stores.rows import text
from daemon.stores.sqlite import accounts, audit, connection, connectors, journal
from daemon.stores.sqlite.company_log import last_logged, log, log_after
from daemon.stores.sqlite.engine import SqliteEngine, migrate
from daemon.stores.sqlite.errors import at_opening, check_room, check_sound, named, stopped_short
from daemon.stores.sqlite.upgrade import upgrade
from daemon.stores.sqlite.webhook_store import SqliteTelling

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

    from actors.core.run import Run
    from actors.ports import Commit, Receipt
    from daemon.model import (
        Account,
        CompanyKey,
        ConnectorChange,
        Following,
        ParkedRun,
        Recorded,
        RunQuery,
        StoredConnector,
        StoreState,
        TemplateDocument,
    )
    from daemon.model.audit_events import LogEvent, Logged
    from daemon.model.evidence import Checkpoint, Entry, Proven, Sign
    from daemon.observability.metrics import Metrics

T = TypeVar("T")
READERS = 4
_log = structlog.get_logger()


class SqliteStore(SqliteTelling):
    """The durable store of one process; make it with `SqliteStore.open`."""

    shared = False

    def __init__(
        self,
        writer: Writer[sqlite3.Connection],
        readers: Sequence[connection.Connection],
        clock: Callable[[], datetime],
        room: Callable[[], None] = lambda: None,
        metrics: Metrics | None = None,
    ) -> None:
        """Write and read by these connections; `room` raises DiskFull when there is too little on the disk."""
        self._room = room
        self._writer = writer
        self._readers = readers
        self._loads = Loads(self._load_all, len(readers), lambda: self._waited)
        self._waited = False
        self._clock = clock
        self._metrics = metrics

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        path: Path,
        *,
        batch_max: int = BATCH_MAX,
        free_bytes_min: int = 0,
        on_failed: Callable[[], None] | None = None,
        metrics: Metrics | None = None,
        clock: Callable[[], datetime] = utc_now,
    ) -> AsyncIterator[SqliteStore]:
        """Open the database, made and migrated as needed; StoreFailed or SchemaMismatch say why it cannot be used."""
        async with AsyncExitStack() as stack:
            make_folder(path.parent)
            stack.enter_context(connection.locked(path.parent))
            connection.create(path)
            unsure = stopped_short(path)
            writing, alone = await stack.enter_async_context(connection.opening(path))
            if alone:
                _log.warning("database_opened_exclusively", hint="free disk space, then restart")
            with at_opening(path):
                if unsure:
                    await writing.run(check_sound)
                await writing.run(lambda db: migrate(db, read_migrations(), text(clock())))
                await writing.run(upgrade)
            readers = [connection.reader(path, alone=alone) for _ in range(READERS)]
            reading = [await stack.enter_async_context(one) for one in readers]
            writer: Writer[sqlite3.Connection] = Writer(
                SqliteEngine(writing, path, free_bytes_min), batch_max=batch_max, on_failed=on_failed, metrics=metrics
            )
            stack.push_async_callback(writer.close)
            yield cls(writer, reading, clock, partial(check_room, path.parent, free_bytes_min), metrics)

    @property
    def failed(self) -> bool:
        """Whether the store has failed for good, so that the process must end."""
        return self._writer.failed

    async def ping(self) -> None:
        """Prove that the store can write; StoreFailed when it cannot."""
        await self._writer.submit(lambda db: db.execute("PRAGMA user_version = 0").fetchall())

    @property
    def state(self) -> StoreState:
        """Whether the store can write, as it was seen last."""
        return self._writer.state

    async def look(self) -> None:
        """See whether there is room on the disk; after a write has failed only another one can tell."""
        if self.state == "ok":
            try:
                await self._readers[0].run(lambda _: self._room())
            except DiskFull as full:
                self._writer.noticed("full")
                _log.warning("disk_full_detected", detail=str(full))
        elif self.state != "stalled":
            with suppress(StoreFailed):
                await self.ping()

    async def append(self, commit: Commit) -> None:
        """Make a commit durable, or raise VersionConflict, ReceiptTaken or StoreFailed."""
        await self._writer.submit(journal.Append.of(commit, self._clock()))

    async def load(self, company_id: str, run_id: str) -> Run | None:
        """The run as committed; None when the company has no such run."""
        return await self._loads.load(company_id, run_id)

    async def _load_all(self, keys: Sequence[tuple[str, str]]) -> Mapping[tuple[str, str], Run]:
        runs, self._waited = await self._read(lambda db: watched(lambda: journal.load_all(db, keys)))
        return runs

    async def find(self, company_id: str, query: RunQuery) -> Sequence[Run]:
        """The runs that a query asks for."""
        return await self._read(lambda db: journal.find(db, company_id, query))

    async def history(self, company_id: str, run_id: str, after: int, limit: int) -> Sequence[Recorded]:
        """At most `limit` events of a run whose seq is greater than `after`."""
        return await self._read(lambda db: journal.history(db, company_id, run_id, after, limit))

    async def unfinished(self) -> Sequence[tuple[str, str]]:
        """The (company_id, run_id) of every run that is not at rest."""
        return await self._read(journal.unfinished)

    async def claim(self) -> Sequence[tuple[str, str]]:
        """Every run that is not at rest: whoever opens this file is the only one who sees to them."""
        return await self.unfinished()

    async def restless(self, after: tuple[str, str], limit: int) -> Sequence[tuple[str, str]]:
        """At most `limit` runs behind a key that are not at rest, or that say so and wait for nobody."""
        return await self._read(lambda db: journal.restless(db, after, limit))

    async def parked(self, after: tuple[str, str], limit: int) -> Sequence[ParkedRun]:
        """At most `limit` runs behind a key that wait for a human, in order."""
        return await self._read(lambda db: journal.parked(db, after, limit))

    async def register(self, account: Account, receipt: Receipt | None, logged: Sequence[Logged] = ()) -> None:
        """Keep a new company with its first user; EmailTaken when the address has an account."""
        at = text(self._clock())
        await self._writer.submit(lambda db: accounts.register(db, account, receipt, at, logged))

    async def account_by_email(self, email: str) -> Account | None:
        """The account of an e-mail address, whatever its case."""
        return await self._read(lambda db: accounts.account_by_email(db, email))

    async def account(self, user_id: str) -> Account | None:
        """The account of a user."""
        return await self._read(lambda db: accounts.account(db, user_id))

    async def revoke(self, token_id: str, expires_at: datetime, logged: Logged | None = None) -> None:
        """Remember that a token no longer counts, until it would have expired."""
        await self._writer.submit(lambda db: accounts.revoke(db, token_id, expires_at, logged))

    async def revoked(self) -> dict[str, datetime]:
        """The revoked tokens that have not expired yet, and when each will."""
        at = text(self._clock())
        return await self._read(lambda db: accounts.revoked(db, at))

    async def drop_revocations(self, before: datetime) -> None:
        """Drop the revocations of tokens that expired before that time."""
        await self._writer.submit(lambda db: accounts.drop_revocations(db, text(before)))

    async def put_connector(self, stored: StoredConnector, change: ConnectorChange) -> None:
        """Keep a connector in place of any earlier one, and its change; StoreFailed when the number is taken."""
        await self._writer.submit(lambda db: connectors.put_connector(db, stored, change))

    async def delete_connector(self, change: ConnectorChange) -> bool:
        """Forget the connector that the change names and keep the change; False, and nothing kept, without one."""
        return await self._writer.submit(lambda db: connectors.delete_connector(db, change))

    async def connectors_of(self, company_id: str) -> Sequence[StoredConnector]:
        """A company's connectors by tool-id, in order."""
        return await self._read(lambda db: connectors.connectors_of(db, company_id))

    async def connector_changes(
        self, company_id: str, tool_id: str, before: int | None, limit: int
    ) -> Sequence[ConnectorChange]:
        """At most `limit` changes of a tool's connector, newest first, those with a number below `before`."""
        return await self._read(lambda db: connectors.connector_changes(db, company_id, tool_id, before, limit))

    async def company_key(self, company_id: str) -> CompanyKey | None:
        """A company's key."""
        return await self._read(lambda db: connectors.company_key(db, company_id))

    async def add_company_key(self, key: CompanyKey) -> CompanyKey:
        """Keep a company's key unless it has one; returns the one that counts."""
        return await self._writer.submit(lambda db: connectors.add_company_key(db, key))

    async def company_keys(self, not_by: str, after: str, limit: int) -> Sequence[CompanyKey]:
        """At most `limit` keys that are not wrapped by the key of that id, by company behind the company `after`."""
        return await self._read(lambda db: connectors.company_keys(db, not_by, after, limit))

    async def rewrap_company_keys(self, keys: Sequence[CompanyKey]) -> None:
        """Put other wrappings in place of the earlier ones, all or none."""
        await self._writer.submit(lambda db: connectors.rewrap_company_keys(db, keys))

    async def receipt(self, company_id: str, path: str, key: str) -> Receipt | None:
        """The receipt kept under that key."""
        return await self._read(lambda db: accounts.receipt(db, company_id, path, key))

    async def add_receipt(self, receipt: Receipt) -> None:
        """Keep a receipt; ReceiptTaken when there is any under its key."""
        at = text(self._clock())
        await self._writer.submit(lambda db: accounts.add_receipt(db, receipt, at))

    async def keep_receipt(self, receipt: Receipt) -> None:
        """Keep a receipt, or complete the unanswered one under the same key; ReceiptTaken when it is answered."""
        at = text(self._clock())
        await self._writer.submit(lambda db: accounts.keep_receipt(db, receipt, at))

    async def drop_receipts(self, before: datetime) -> int:
        """Drop the receipts kept before that time, a bounded number per batch; returns how many."""
        drop = partial(accounts.drop_receipts, before=text(before))
        return await drop_all(lambda: self._writer.submit(drop))

    async def keep_template(self, document: TemplateDocument) -> None:
        """Keep a template; SchemaMismatch when its vertical and version are taken by another digest."""
        await self._writer.submit(lambda db: accounts.keep_template(db, document))

    async def template_document(self, digest: str) -> TemplateDocument | None:
        """The template of that digest."""
        return await self._read(lambda db: accounts.template_document(db, digest))

    async def log(self, logged: Logged) -> None:
        """Add an event to a company's own log."""
        await self._writer.submit(lambda db: log(db, logged))

    async def last_logged(self, company_id: str, holding: str) -> LogEvent | None:
        """The latest event of a company's own log whose JSON holds this text."""
        return await self._read(lambda db: last_logged(db, company_id, holding))

    async def log_after(self, company_id: str, holding: str, following: Following) -> None:
        """Add to a company's own log what follows on its latest event that holds this text."""
        await self._writer.submit(lambda db: log_after(db, company_id, holding, following))

    async def unsealed(self) -> int:
        """How many commits no checkpoint covers yet, or a few more."""
        return await self._read(audit.unsealed)

    async def seal(self, sign: Sign, only: str | None = None) -> int:
        """Give the next commits, of all or of one company, their leaves and a checkpoint; returns how many."""
        return await self._writer.submit(lambda db: audit.seal(db, sign, only))

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

    async def _read(self, query: Callable[[sqlite3.Connection], T]) -> T:
        """Run a query on the reader with the least to do, on one state of the database."""
        reader = min(self._readers, key=lambda one: one.waiting)
        try:
            return await reader.run(lambda db: _at_one_point(db, query))
        except HistoryBroken as broken:
            self._not_read("history_broken", str(broken), "damaged")
            raise
        except (sqlite3.Error, ValueError) as error:
            detail = named(error) if isinstance(error, sqlite3.Error) else str(error)
            self._not_read("store_read_failed", detail, "read")
            raise StoreFailed(f"The store could not be read: {error}.", "not_applied") from error

    def _not_read(self, event: str, detail: str, kind: str) -> None:
        _log.error(event, detail=detail)
        if self._metrics is not None:
            self._metrics.store_failure(kind)


def _at_one_point(db: sqlite3.Connection, query: Callable[[sqlite3.Connection], T]) -> T:
    db.execute("BEGIN")
    try:
        return query(db)
    finally:
        db.execute("COMMIT")
