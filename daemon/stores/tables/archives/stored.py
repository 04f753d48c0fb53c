"""Archived runs: what stays of them in place of their events."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from actors.core.canonical import canonical
from daemon.model.chain import HistoryBroken
from daemon.model.events.retention import ArchiveForm
from daemon.model.retention.records import Archived, HistoryArchived

if TYPE_CHECKING:
    from daemon.stores.database import Database, Key

ARCHIVED = "company_id, run_id, archived_at, form"
OF_RUN = "company_id = $1 AND run_id = $2"


async def archived(db: Database, key: Key) -> Archived:
    """The archive of a run whose events are gone; HistoryBroken when they should be there."""
    row = await db.row(f"SELECT archived_at, form FROM archived_runs WHERE {OF_RUN}", *key)
    if row is None:
        raise HistoryBroken(key[1], 1, "the events are missing, and the run was not archived")
    return archived_of(key[0], *row)


async def refuse_archived(db: Database, key: Key, events: bytes) -> None:
    """HistoryArchived where the events of a commit are in an archive."""
    if not events:
        raise HistoryArchived(await archived(db, key))


def archived_of(company_id: str, archived_at: str, form: str) -> Archived:
    return Archived(company_id, datetime.fromisoformat(archived_at), msgspec.json.decode(form, type=ArchiveForm))


def written(form: ArchiveForm) -> str:
    """What stays of a run, as it is stored."""
    return canonical(msgspec.to_builtins(form))
