"""Archived runs: what stays of them in place of their events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from daemon.model.chain import HistoryBroken
from daemon.model.retention.records import Archived, HistoryArchived
from daemon.stores.table import Table

if TYPE_CHECKING:
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
