"""The newest roots of the companies' trees, recorded in a stream of the service.

Its checkpoint so covers the trees of all companies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from daemon.model.audit_events import ROOTS, SERVICE, Logged, RootForm, RootsRecorded
from daemon.stores.tables.company_log import log

if TYPE_CHECKING:
    from datetime import datetime

    from daemon.stores.database import Database

RECORDED_MAX = 256
VIA = "service"
_UNRECORDED = (
    "SELECT audit_unrecorded.company_id, audit_unrecorded.size, root FROM audit_unrecorded "
    "JOIN audit_checkpoints ON audit_checkpoints.company_id = audit_unrecorded.company_id "
    "AND audit_checkpoints.size = audit_unrecorded.size "
    "ORDER BY audit_unrecorded.company_id, audit_unrecorded.size LIMIT $1"
)


async def unrecorded(db: Database) -> bool:
    """Whether there are checkpoints that the service's tree does not cover."""
    return bool(await db.rows(_UNRECORDED, 1))


async def record_roots(db: Database, at: datetime) -> int:
    """Record a bounded number of checkpoints, the newest of each company; returns how many."""
    await db.next_position(SERVICE, 0)  # locks: no other daemon records the same
    rows = await db.rows(_UNRECORDED, RECORDED_MAX)
    if not rows:
        return 0
    newest = {company_id: RootForm(root=root, size=size) for company_id, size, root in rows}
    await log(db, Logged(SERVICE, RootsRecorded(at=at, roots=newest, via=VIA), ROOTS))
    for company_id, one in newest.items():
        await db.execute("DELETE FROM audit_unrecorded WHERE company_id = $1 AND size <= $2", company_id, one.size)
    return len(rows)
