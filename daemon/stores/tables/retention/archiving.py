"""Archiving: what is due, and the one transaction that leaves hashes in place of events."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from daemon.model.audit_events import Logged
from daemon.model.evidence import SEAL_MAX, Sign
from daemon.model.people.companies import POLICY, StoredSetting
from daemon.model.retention.records import Archived, Candidate
from daemon.stores.rows import bounded, iso
from daemon.stores.tables.archives import ARCHIVES, OF_RUN
from daemon.stores.tables.audit import seal, seal_company
from daemon.stores.tables.company_log import log
from daemon.stores.tables.people.settings import settings_where

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daemon.model.events.company import CompanyPolicy, RunArchived
    from daemon.stores.database import Database, Dialect

_STAYS: dict[Dialect, str] = {"sqlite": "archived = 0", "postgres": "NOT archived"}
_ARCHIVE = (
    "UPDATE runs SET archived = {gone} WHERE company_id = $1 AND id = $2 AND version = $3 AND {stays} "
    f"AND NOT EXISTS (SELECT 1 FROM run_holds WHERE {OF_RUN})"
)
_GONE: dict[Dialect, str] = {"sqlite": "1", "postgres": "true"}
_ARCHIVABLE = (
    "SELECT created_at, id FROM runs WHERE company_id = $1 AND {} AND status IN ('completed', 'failed', 'cancelled') "
    "AND created_at < $2 AND updated_at < $2 AND wake_at IS NULL AND (created_at, id) > ($3, $4) AND NOT EXISTS "
    "(SELECT 1 FROM run_holds WHERE run_holds.company_id = $1 AND run_id = id) AND (updated_at < $6 OR NOT EXISTS "
    "(SELECT 1 FROM actions WHERE actions.company_id = $1 AND run_id = id)) ORDER BY created_at, id LIMIT $5"
)
_CLAIM = (
    "INSERT INTO archivers (company_id, epoch) VALUES ($1, $2) ON CONFLICT (company_id) DO UPDATE "
    "SET epoch = excluded.epoch WHERE archivers.epoch = excluded.epoch "
    "OR NOT EXISTS (SELECT 1 FROM daemons WHERE daemons.epoch = archivers.epoch)"
)
_SIZE = (
    "SELECT CAST(sum(length(events) + coalesce(length(exact), 0)) AS bigint), max(position) FROM commits "
    f"WHERE {OF_RUN}"
)
# What is not counted yet will be counted without these.
FREE = (
    "UPDATE company_usage SET bytes = bytes - $2 WHERE company_id = $1 AND bytes >= $2 "
    "AND (SELECT counted.position FROM company_usage AS counted WHERE counted.company_id = $3) >= $4"
)
SNAPSHOT: dict[Dialect, str] = {
    "sqlite": "DELETE FROM snapshots WHERE run = (SELECT number FROM runs WHERE company_id = $1 AND id = $2)",
    "postgres": f"DELETE FROM snapshots WHERE {OF_RUN}",
}
WORDS: dict[Dialect, str] = {
    "sqlite": "DELETE FROM run_words WHERE rowid = (SELECT number FROM runs WHERE company_id = $1 AND id = $2)",
    "postgres": f"DELETE FROM run_words WHERE {OF_RUN}",
}
_LOG_POSITION = "SELECT position FROM commits WHERE company_id = $1 AND run_id = $1 ORDER BY version DESC LIMIT 1"
_LEAF = "SELECT count(*) FROM audit_leaves WHERE company_id = $1 AND position = $2"
PIECES_MAX = 8
_RECEIPTS = "DELETE FROM receipts WHERE company_id = $1 AND path >= $2 AND path < $3"


class NotSealed(Exception):
    """No checkpoint could cover the end of the log now."""


async def archiving_policies(db: Database) -> Sequence[StoredSetting[CompanyPolicy]]:
    """The policies by which runs are archived."""
    found = await settings_where(db, POLICY, """policy LIKE '%"archive_after_days":%'""")
    return [one for one in found if one.value.archive_after_days is not None]


async def claim_archiving(db: Database, company_id: str) -> bool:
    """Whether this daemon archives the runs of a company; claimed when no other does."""
    return db.dialect == "sqlite" or await db.execute(_CLAIM, company_id, db.epoch) == 1


async def archivable(
    db: Database, company_id: str, before: datetime, after: Candidate, limit: int, *, actions_before: datetime
) -> Sequence[Candidate]:
    """At most `limit` runs behind `after` that came to rest before a time and are not held.

    Actions are of `actions_before`, too.
    """
    statement = _ARCHIVABLE.format(_STAYS[db.dialect])
    times = bounded(limit), iso(actions_before)
    return [Candidate(*row) for row in await db.rows(statement, company_id, iso(before), *after, *times)]


async def keep_archives(db: Database, company_id: str, events: Sequence[RunArchived], sign: Sign) -> frozenset[str]:
    await db.next_position(company_id, 0)  # locks: a hold comes before or after
    kept = [event.form.run_id for event in events if await _keep_archive(db, company_id, event)]
    if kept:
        await seal_log(db, company_id, sign)
    return frozenset(kept)


async def _keep_archive(db: Database, company_id: str, event: RunArchived) -> bool:
    form = event.form
    key = (company_id, form.run_id)
    statement = _ARCHIVE.format(gone=_GONE[db.dialect], stays=_STAYS[db.dialect])
    if await db.execute(statement, *key, form.version) != 1:
        return False
    size, last = await db.row(_SIZE, *key) or (0, 0)
    await db.execute(FREE, company_id, size, "" if db.dialect == "sqlite" else company_id, last)
    await ARCHIVES.insert(db, Archived(company_id, event.at, form), run_id=form.run_id)
    await db.execute(f"UPDATE commits SET events = $3, exact = NULL WHERE {OF_RUN}", *key, b"")
    for statement in (SNAPSHOT[db.dialect], WORDS[db.dialect], f"DELETE FROM gate_claims WHERE {OF_RUN}"):
        await db.execute(statement, *key)
    path = f"/process-runs/{form.run_id}"
    await db.execute(_RECEIPTS, company_id, f"{path}/", f"{path}0")  # those below it: "0" follows on "/"
    await log(db, Logged(company_id, event))
    return True


async def seal_log(db: Database, company_id: str, sign: Sign) -> None:
    """Cover the end of a company's log by a checkpoint: what is said there explains what is gone.

    NotSealed while another daemon seals, or where too much has to be sealed first.
    """
    position = await db.value(_LOG_POSITION, company_id)
    for _ in range(PIECES_MAX):
        if db.dialect == "sqlite":
            await seal(db, sign, company_id)
        else:
            await seal_company(db, company_id, sign, SEAL_MAX)
        if await db.value(_LEAF, company_id, position):
            return
    raise NotSealed
