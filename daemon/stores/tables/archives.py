"""Archived runs and legal holds: what stays of runs, and what may not go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from daemon.model.chain import HistoryBroken
from daemon.model.retention.records import Archived, HistoryArchived, LegalHold, Retained, StoredRedaction
from daemon.stores.table import TEXTS, Table
from daemon.stores.tables.company_log import log

if TYPE_CHECKING:
    from daemon.model.audit_events import Logged
    from daemon.stores.database import Database, Key


ARCHIVES = Table("archived_runs", Archived, ("company_id", "run_id"), json=("form",), beside=("run_id",))
OF_RUN = "company_id = $1 AND run_id = $2"


async def archived(db: Database, key: Key) -> Archived:
    """The archive of a run whose events are gone; HistoryBroken when they should be there."""
    row = await db.row(f"{ARCHIVES.select} WHERE {OF_RUN}", *key)
    if row is None:
        raise HistoryBroken(key[1], 1, "the events are missing, and the run was not archived")
    return ARCHIVES.from_row(row)


async def refuse_archived(db: Database, key: Key, events: bytes) -> None:
    """HistoryArchived where the events of a commit are in an archive."""
    if not events:
        raise HistoryArchived(await archived(db, key))


HOLDS = Table("run_holds", LegalHold, ("company_id", "run_id"))
REDACTIONS = Table("run_redactions", StoredRedaction, ("company_id", "run_id", "number"), codecs={"pointers": TEXTS})
_RETAINED = (
    f"SELECT 0, reason, held_at, held_by, NULL FROM run_holds WHERE {OF_RUN} UNION ALL "
    f"SELECT -1, NULL, archived_at, NULL, form FROM archived_runs WHERE {OF_RUN} UNION ALL "
    f"SELECT number, reason, redacted_at, redacted_by, pointers FROM run_redactions WHERE {OF_RUN} ORDER BY 1"
)


async def retained(db: Database, company_id: str, run_id: str) -> Retained:
    hold = archived = None
    redactions = []
    for number, reason, at, by, form in await db.rows(_RETAINED, company_id, run_id):
        if number < 0:
            archived = ARCHIVES.from_row((company_id, at, form))
        elif number == 0:
            hold = HOLDS.from_row((company_id, run_id, reason, at, by))
        else:
            redactions.append(REDACTIONS.from_row((company_id, run_id, number, reason, at, by, form)))
    return Retained(hold, archived, tuple(redactions))


async def put_hold(db: Database, hold: LegalHold, logged: Logged) -> bool:
    """Hold a run; False when it is held for that reason already."""
    await db.next_position(hold.company_id, 0)  # locks: a run is archived before or after, and knows it
    if not await HOLDS.put(db, hold, "run_holds.reason <> excluded.reason"):
        return False
    await log(db, logged)
    return True


async def drop_hold(db: Database, company_id: str, run_id: str, logged: Logged) -> bool:
    """Release a run; False when it is not held."""
    await db.next_position(company_id, 0)
    if await db.execute(f"DELETE FROM run_holds WHERE {OF_RUN}", company_id, run_id) != 1:
        return False
    await log(db, logged)
    return True
