"""Evaluations begun for runs, so that one under which the service ended is not repeated."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from daemon.stores.database import Database

EVALUATION = "company_id, run_id, version, begun_by"
_BEGUN = "SELECT version, begun_by FROM evaluations_begun WHERE company_id = $1 AND run_id = $2"
_BEGIN = (
    f"INSERT INTO evaluations_begun ({EVALUATION}) VALUES ($1, $2, $3, $4) ON CONFLICT (company_id, run_id) "
    "DO UPDATE SET version = excluded.version, begun_by = excluded.begun_by"
)
_END = "DELETE FROM evaluations_begun WHERE company_id = $1 AND run_id = $2 AND begun_by = $3"
_ALIVE = "SELECT 1 FROM daemons WHERE epoch = $1"


async def begin_evaluation(db: Database, company_id: str, run_id: str, version: int, by: int) -> bool:
    """Note it; False where a daemon has ended within one of the run as it stands."""
    found = await db.row(_BEGUN, company_id, run_id)
    if found is not None and found[0] == version and found[1] != by and not await _is_alive(db, found[1]):
        return False
    await db.execute(_BEGIN, company_id, run_id, version, by)
    return True


async def _is_alive(db: Database, begun_by: int) -> bool:
    """Whether another daemon is at it; a SQLite file has one at a time."""
    return db.dialect != "sqlite" and await db.row(_ALIVE, begun_by) is not None


async def end_evaluation(db: Database, company_id: str, run_id: str, by: int) -> None:
    await db.execute(_END, company_id, run_id, by)
