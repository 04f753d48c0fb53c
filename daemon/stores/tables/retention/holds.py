"""Legal holds, and how a run is kept."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING

from daemon.model.retention.records import LegalHold, Retained, StoredRedaction
from daemon.stores.rows import text
from daemon.stores.tables.archives.stored import OF_RUN, archived_of
from daemon.stores.tables.company_log import log

if TYPE_CHECKING:
    from daemon.model.audit_events import Logged
    from daemon.stores.database import Database

HOLD = "company_id, run_id, reason, held_at, held_by"
_RETAINED = (
    f"SELECT 0, reason, held_at, held_by, NULL FROM run_holds WHERE {OF_RUN} UNION ALL "
    f"SELECT -1, NULL, archived_at, NULL, form FROM archived_runs WHERE {OF_RUN} UNION ALL "
    f"SELECT number, reason, redacted_at, redacted_by, pointers FROM run_redactions WHERE {OF_RUN} ORDER BY 1"
)
_PUT = (
    f"INSERT INTO run_holds ({HOLD}) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (company_id, run_id) DO UPDATE SET "
    "reason = excluded.reason, held_at = excluded.held_at, held_by = excluded.held_by "
    "WHERE run_holds.reason <> excluded.reason"
)


async def retained(db: Database, company_id: str, run_id: str) -> Retained:
    hold = archived = None
    redactions = []
    for number, reason, at, by, form in await db.rows(_RETAINED, company_id, run_id):
        if number < 0:
            archived = archived_of(company_id, at, form)
        elif number == 0:
            hold = LegalHold(company_id, run_id, reason, datetime.fromisoformat(at), by)
        else:
            when, pointers = datetime.fromisoformat(at), tuple(json.loads(form))
            redactions.append(StoredRedaction(company_id, run_id, number, reason, when, by, pointers))
    return Retained(hold, archived, tuple(redactions))


async def put_hold(db: Database, hold: LegalHold, logged: Logged) -> bool:
    """Hold a run; False when it is held for that reason already."""
    await db.next_position(hold.company_id, 0)  # locks: a run is archived before or after, and knows it
    row = (hold.company_id, hold.run_id, hold.reason, text(hold.held_at), hold.held_by)
    if await db.execute(_PUT, *row) != 1:
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
