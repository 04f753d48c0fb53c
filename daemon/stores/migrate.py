"""Migrates a stopped installation from SQLite to PostgreSQL and compares the result.

Rows that are there already stay as they are, so that an interrupted migration is started again.
"""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from daemon.stores.postgres.connection import Connection, Db, without_nul
from daemon.stores.postgres.migrations import migrate
from daemon.stores.rows import text
from daemon.stores.sqlite.connection import locked
from daemon.stores.sqlite.inspection import read_only
from daemon.stores.sqlite.store import SqliteStore
from daemon.stores.tables.archives.stored import ARCHIVED
from daemon.stores.tables.connectors import CHANGE
from daemon.stores.tables.open_gates import BUSINESS_KEY, CLAIM, OPEN_GATE
from daemon.stores.tables.own_templates import DRAFT, OWN_TEMPLATE
from daemon.stores.tables.people.accounts import PASSWORD_RESET
from daemon.stores.tables.people.api_keys import API_KEY
from daemon.stores.tables.people.autonomies import AUTONOMY
from daemon.stores.tables.people.calendars import CALENDAR
from daemon.stores.tables.people.delegations import DELEGATION
from daemon.stores.tables.people.members import GROUP, GROUP_MEMBER, INVITATION, MEMBERS
from daemon.stores.tables.people.policies import POLICY
from daemon.stores.tables.people.saved_views import SAVED_VIEW
from daemon.stores.tables.people.second_factors import SECOND_FACTOR
from daemon.stores.tables.people.sessions import SESSION
from daemon.stores.tables.people.subjects import SUBJECT
from daemon.stores.tables.retention.holds import HOLD
from daemon.stores.tables.runs import EVALUATION
from daemon.stores.tables.webhooks import DELIVERY, NOTIFIER, WEBHOOK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime
    from pathlib import Path

    from daemon.keys.commit_keys import CommitKeys

BATCH = 500
Row = tuple[Any, ...]


class MigrationRefused(Exception):
    """The installation cannot be migrated; the text says why."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of PostgreSQL, the query that reads its rows from SQLite, and its boolean columns."""

    name: str
    columns: str
    select: str = ""
    flags: tuple[int, ...] = ()

    @property
    def reading(self) -> str:
        return self.select or f"SELECT {self.columns} FROM {self.name}"  # noqa: S608 - names of our own

    @property
    def writing(self) -> str:
        values = ", ".join(f"${number}" for number in range(1, self.columns.count(",") + 2))
        return f"INSERT INTO {self.name} ({self.columns}) VALUES ({values}) ON CONFLICT DO NOTHING"  # noqa: S608


# The next daemon claims the unfinished runs: no daemon has epoch 0. Each company's clock starts
# after all positions, since the cursors of webhooks stand among those of all companies.
TABLES = (
    Table("companies", "id, name, created_at"),
    Table(
        "users",
        "company_id, id, email, name, password_hash, created_at, epoch, epoch_kept, epoch_until",
    ),
    Table("addresses", "email_key, company_id, user_id", "SELECT email_key, company_id, id FROM users"),
    Table("members", MEMBERS),
    Table("invitations", INVITATION),
    Table("password_resets", PASSWORD_RESET),
    Table("member_groups", GROUP),
    Table("group_members", GROUP_MEMBER),
    Table("revocations", "token_id, expires_at"),
    Table("templates", "digest, vertical, version, document"),
    Table(
        "runs",
        "company_id, id, version, resting, status, vertical, parked, created_at, updated_at, epoch, moved_by, "
        "moved_from, wake_at, reviewed, business_key, archived",
        "SELECT company_id, id, version, resting, status, vertical, parked, created_at, updated_at, 0, 0, 0, wake_at, "
        "reviewed, business_key, archived FROM runs",
        flags=(3, 13, 15),
    ),
    Table(
        "snapshots",
        "company_id, run_id, version, schema, mac, body",
        "SELECT company_id, id, snapshots.version, schema, mac, body FROM snapshots JOIN runs ON number = run",
    ),
    Table("commits", "company_id, run_id, version, first_seq, position, head, mac, exact, events"),
    Table("open_gates", OPEN_GATE),
    Table("gate_claims", CLAIM),
    Table("business_keys", BUSINESS_KEY),
    Table("evaluations_begun", EVALUATION),
    Table("receipts", "company_id, path, key, fingerprint, run_id, status, headers, body, created_at"),
    Table("connectors", "company_id, tool_id, connector, sealed_secret, created_at, updated_at, updated_by"),
    Table("connector_changes", CHANGE),
    Table("company_keys", "company_id, key_id, wrapped, created_at"),
    Table("audit_leaves", "company_id, number, stream, version, position"),
    Table("audit_nodes", "company_id, level, number, hash"),
    Table("audit_checkpoints", "company_id, size, at, key_id, previous, root, signature"),
    Table("audit_unrecorded", "company_id, size"),
    Table("webhooks", WEBHOOK, flags=(9,)),
    Table("webhook_deliveries", DELIVERY),
    Table("notifiers", NOTIFIER),
    Table("sessions", SESSION),
    Table("own_templates", OWN_TEMPLATE),
    Table("template_drafts", DRAFT),
    Table("policies", POLICY),
    Table("autonomies", AUTONOMY),
    Table("calendars", CALENDAR),
    Table("delegations", DELEGATION),
    Table("saved_views", SAVED_VIEW),
    Table("run_holds", HOLD),
    Table("archived_runs", ARCHIVED),
    Table("second_factors", SECOND_FACTOR),
    Table("api_keys", API_KEY, flags=(12,)),
    Table("sso_subjects", SUBJECT),
    Table(
        "clocks",
        "company_id, position",
        "SELECT DISTINCT company_id, (SELECT max(position) + 1 FROM commits) FROM commits",
    ),
    Table("seals", "company_id, position", "SELECT company_id, max(position) FROM audit_leaves GROUP BY company_id"),
)
_HEADS = "SELECT company_id, run_id, version, position, head, mac, exact, events FROM commits ORDER BY 1, 2, 3"
_TREES = "SELECT company_id, size, root, signature FROM audit_checkpoints ORDER BY 1, 2"


async def move(
    source: Path, url: str, keys: CommitKeys, clock: Callable[[], datetime], report: Callable[[str], None]
) -> None:
    """Copy everything, compare it, and then let daemons in; the source stays as it is.

    MigrationRefused or StoreFailed say why it cannot be done.
    """
    async with SqliteStore.open(source, keys=keys):  # so that it is of today's form, and nobody uses it
        pass
    connection = Connection(url)
    try:
        await connection.use(lambda db: migrate(db, text(clock())), writing=True)
        with locked(source.parent), closing(sqlite3.connect(read_only(source), uri=True, isolation_level=None)) as old:
            old.execute("BEGIN")
            await connection.use(lambda db: _begun(db, str(source)), writing=True)
            for table in TABLES:
                number = await _copied(old, connection, table)
                report(f"{table.name}: {number:,} rows")
            report(await _compared(old, connection))
        await connection.use(lambda db: db.execute("UPDATE moves SET done = true"), writing=True)
    finally:
        await connection.close()


async def _begun(db: Db, source: str) -> None:
    """Record the migration; MigrationRefused when something else is there."""
    known = await db.fetchrow("SELECT source, done FROM moves")
    if known is None:
        if await db.fetchval("SELECT EXISTS (SELECT 1 FROM companies) OR EXISTS (SELECT 1 FROM commits)"):
            raise MigrationRefused("There is an installation in that database already; nothing was written.")
        await db.execute("INSERT INTO moves VALUES (true, $1, false)", source)
    elif known["done"]:
        raise MigrationRefused(f"{known['source']} was moved there already; nothing was written.")
    elif known["source"] != source:
        raise MigrationRefused(f"A move from {known['source']} to that database was begun; finish that one.")


async def _copied(old: sqlite3.Connection, connection: Connection, table: Table) -> int:
    """Copy a table in batches; returns how many rows it has in both databases."""
    total = 0
    for rows in _pages(old, table):
        await connection.use(lambda db, rows=rows: db.executemany(table.writing, rows), writing=True)  # type: ignore[misc]
        total += len(rows)
    count = f"SELECT count(*) FROM {table.name}"  # noqa: S608 - a name of our own
    found = await connection.use(lambda db: db.fetchval(count))
    if found != total:
        raise MigrationRefused(f"{table.name} has {found:,} rows there and {total:,} here: somebody else wrote there.")
    return total


def _pages(old: sqlite3.Connection, table: Table) -> Iterator[list[Row]]:
    cursor = old.execute(table.reading)
    while rows := cursor.fetchmany(BATCH):
        yield [tuple(_value(table, place, value) for place, value in enumerate(row)) for row in rows]


def _value(table: Table, place: int, value: Any) -> Any:
    if place in table.flags:
        return bool(value)
    return without_nul(value) if isinstance(value, str) else value


async def _compared(old: sqlite3.Connection, connection: Connection) -> str:
    """Compare the chains of all commits and all checkpoints; MigrationRefused at a difference."""
    said = []
    for name, statement in (("commits", _HEADS), ("checkpoints", _TREES)):
        here, number = _digest(old.execute(statement))
        there, _ = await connection.use(lambda db, asked=statement: _digest_there(db, asked))  # type: ignore[misc]
        if here != there:
            raise MigrationRefused(f"The {name} are not the same there as here: do not use that database.")
        said.append(f"{number:,} {name}")
    return f"compared: {' and '.join(said)} are the same, byte for byte"


def _digest(rows: Iterator[Row] | sqlite3.Cursor) -> tuple[str, int]:
    digest, number = hashlib.sha256(), 0
    for number, row in enumerate(rows, 1):  # noqa: B007
        digest.update(repr(tuple(row)).encode())
    return digest.hexdigest(), number


async def _digest_there(db: Db, statement: str) -> tuple[str, int]:
    digest, number = hashlib.sha256(), 0
    async with db.transaction():
        async for row in db.cursor(statement, prefetch=BATCH):
            digest.update(repr(tuple(row)).encode())
            number += 1
    return digest.hexdigest(), number
