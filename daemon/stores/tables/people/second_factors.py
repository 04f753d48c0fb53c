"""The second factors of people."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from daemon.model.people.credentials import Enrolment, SecondFactor
from daemon.stores.rows import text, text_or_null, time_or_none
from daemon.stores.tables.company_log import log

if TYPE_CHECKING:
    from collections.abc import Iterable

    from daemon.model.audit_events import Logged
    from daemon.stores.database import Database, Row

SECOND_FACTOR = "company_id, user_id, number, sealed_secret, created_at, confirmed_at, last_step, session_id"
ENROLMENT = (
    "SELECT user_id, number, sealed_secret IS NOT NULL AND confirmed_at IS NOT NULL, session_id FROM second_factors"
)
_AFTER = (
    "number = excluded.number, sealed_secret = excluded.sealed_secret, created_at = excluded.created_at, "
    "confirmed_at = excluded.confirmed_at, last_step = excluded.last_step, session_id = excluded.session_id"
)
_NEXT = "WHERE second_factors.number = excluded.number - 1"
_PUT = {
    "sqlite": f"INSERT INTO second_factors ({SECOND_FACTOR}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) "
    f"ON CONFLICT (company_id, user_id) DO UPDATE SET {_AFTER} {_NEXT}",
    # Other daemons look for recent ones.
    "postgres": f"INSERT INTO second_factors ({SECOND_FACTOR}, noted_at) "
    "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, clock_timestamp()) "
    f"ON CONFLICT (company_id, user_id) DO UPDATE SET {_AFTER}, noted_at = excluded.noted_at {_NEXT}",
}
_USE = (
    "UPDATE second_factors SET last_step = $4 WHERE company_id = $1 AND user_id = $2 AND number = $3 AND last_step < $4"
)


async def second_factor(db: Database, user_id: str) -> SecondFactor | None:
    row = await db.row(f"SELECT {SECOND_FACTOR} FROM second_factors WHERE user_id = $1", user_id)
    return None if row is None else _of_row(row)


async def put_second_factor(db: Database, factor: SecondFactor, logged: Logged) -> bool:
    await db.next_position(factor.company_id, 0)  # locks in the order of all that change rights
    times = (text(factor.created_at), text_or_null(factor.confirmed_at))
    row = (
        factor.company_id,
        factor.user_id,
        factor.number,
        factor.sealed_secret,
        *times,
        factor.last_step,
        factor.session_id,
    )
    if await db.execute(_PUT[db.dialect], *row) != 1:
        return False
    await log(db, logged)
    return True


async def use_step(db: Database, factor: SecondFactor, step: int) -> bool:
    """Record the time step of a used code; False when one as late was used, or on a change."""
    return await db.execute(_USE, factor.company_id, factor.user_id, factor.number, step) == 1


async def enrolments(db: Database) -> dict[str, Enrolment]:
    """The users whose second factor counts."""
    rows = await db.rows(f"{ENROLMENT} WHERE sealed_secret IS NOT NULL AND confirmed_at IS NOT NULL")
    return enrolments_of(rows)


def enrolments_of(rows: Iterable[Row]) -> dict[str, Enrolment]:
    return {user_id: Enrolment(number, bool(counts), session) for user_id, number, counts, session in rows}


def _of_row(row: Row) -> SecondFactor:
    company_id, user_id, number, sealed, created_at, confirmed_at, last_step, session_id = row
    times = datetime.fromisoformat(created_at), time_or_none(confirmed_at)
    secret = None if sealed is None else bytes(sealed)
    return SecondFactor(company_id, user_id, number, secret, *times, last_step, session_id)
