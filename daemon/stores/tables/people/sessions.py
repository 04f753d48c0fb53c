"""Sessions, and the epochs of users' tokens."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING

from daemon.model import TokenEpoch, UserSession
from daemon.stores.group_commit import DROP_MAX
from daemon.stores.rows import bounded, iso
from daemon.stores.table import Codec, Table
from daemon.stores.tables.company_log import log
from daemon.stores.tables.people.accounts import end_password_resets, revoke

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from daemon.model import EpochChange, RefreshHashes, SessionEnd, SessionQuery
    from daemon.model.audit_events import Logged
    from daemon.stores.database import Database, Row

SESSIONS = Table(
    *("sessions", UserSession, ("company_id", "user_id", "id")),
    stored_as={"refresh": ("family_hash", "current_hash", "previous_hash", "rotated_at")},
    codecs={"amr": Codec(" ".join, lambda stored: tuple(stored.split()))},
)
_LIVE = (
    f"{SESSIONS.select} WHERE user_id = $1 AND id < $4 AND ended_at IS NULL AND expires_at > $2 "
    "AND (kind = 'api' OR last_used_at > $3) AND $6 IN ('', company_id) ORDER BY id DESC LIMIT $5"
)
_AFTER_ALL = "\U0010ffff"
_ROTATE = (
    "UPDATE sessions SET current_hash = $5, previous_hash = $4, rotated_at = $6, last_used_at = $6 "
    "WHERE company_id = $1 AND user_id = $2 AND id = $3 AND current_hash = $4 AND ended_at IS NULL"
)
_IDS = {
    "sqlite": "(SELECT value FROM json_each($2))",
    "postgres": "(SELECT jsonb_array_elements_text($2::jsonb))",
}
_END = "UPDATE sessions SET ended_at = $3 WHERE company_id = $1 AND id = $2 AND ended_at IS NULL"
_END_OTHERS = "UPDATE sessions SET ended_at = $3 WHERE user_id = $1 AND id <> $2 AND ended_at IS NULL"
# PostgreSQL notes the time of the change: other daemons look for recent ones.
_NOTED = {"sqlite": "", "postgres": ", epoch_noted_at = clock_timestamp()"}
_DROP = (
    "DELETE FROM sessions WHERE (company_id, user_id, id) IN "
    "(SELECT company_id, user_id, id FROM sessions WHERE expires_at <= $1 LIMIT $2)"
)
# The row is locked, so that no epoch of the user begins until the end.
_EPOCH_OF = {
    "sqlite": "SELECT epoch FROM users WHERE id = $1",
    "postgres": "SELECT epoch FROM users WHERE id = $1 FOR SHARE",
}
_ENTER = "UPDATE members SET entered_at = $3 WHERE company_id = $1 AND user_id = $2 AND status = 'active'"
_EPOCH = "SELECT id, epoch, epoch_kept, epoch_until FROM users"


async def add_session(db: Database, session: UserSession) -> None:
    await SESSIONS.insert(db, session)


async def begin_session(db: Database, session: UserSession, epoch: int, logged: Logged) -> bool:
    """Keep a new session; False when the user's epoch is another one by now, or no member."""
    await db.next_position(session.company_id, 0)  # locks in the order of all that log
    if await db.value(_EPOCH_OF[db.dialect], session.user_id) != epoch:
        return False
    if await db.value(
        "SELECT count(*) FROM sessions WHERE id = $1", session.id
    ):  # a code of single sign-on is used again
        return False
    if await db.execute(_ENTER, session.company_id, session.user_id, iso(logged.event.at)) != 1:
        return False
    await add_session(db, session)
    await log(db, logged)
    return True


async def session(db: Database, session_id: str) -> UserSession | None:
    row = await db.row(f"{SESSIONS.select} WHERE id = $1", session_id)
    return None if row is None else SESSIONS.from_row(row)


async def sessions_of(db: Database, query: SessionQuery) -> Sequence[UserSession]:
    """The sessions of a user, newest first; those before one of them for a further page."""
    last = _AFTER_ALL if query.before is None else query.before
    times = (iso(query.at), iso(query.idle_since))
    rows = await db.rows(_LIVE, query.user_id, *times, last, bounded(query.limit), query.company_id)
    return [SESSIONS.from_row(row) for row in rows]


async def provider_sessions(db: Database, user_id: str, sid: str, at: datetime) -> Sequence[UserSession]:
    """The sessions by a provider that count: of a user, of a session of its own, or both."""
    where, values = "ended_at IS NULL AND expires_at > $1 AND (amr LIKE '%sso:%' OR via = 'sso')", [iso(at)]
    for column, value in (("user_id", user_id), ("provider_sid", sid)):
        if value:
            values.append(value)
            where += f" AND {column} = ${len(values)} AND {column} <> ''"
    return [SESSIONS.from_row(row) for row in await db.rows(f"{SESSIONS.select} WHERE {where}", *values)]


async def rotate_session(db: Database, session: UserSession, refresh: RefreshHashes) -> bool:
    """Replace the refresh token; False when it was replaced or the session ended meanwhile."""
    hashes = (refresh.previous, refresh.current, iso(refresh.rotated_at))
    return await db.execute(_ROTATE, *_user(session), session.id, *hashes) == 1


async def touch_sessions(db: Database, session_ids: Collection[str], at: datetime) -> None:
    statement = f"UPDATE sessions SET last_used_at = $1 WHERE id IN {_IDS[db.dialect]} AND last_used_at < $1"
    await db.execute(statement, iso(at), json.dumps(sorted(session_ids)))


async def end_session(db: Database, end: SessionEnd) -> bool:
    await db.next_position(end.company_id, 0)  # locks in the order of all that end sessions
    if await db.execute(_END, end.company_id, end.session_id, iso(end.at)) != 1:
        return False
    await revoke(db, end.session_id, end.until, end.logged)
    return True


async def advance_epoch(db: Database, change: EpochChange, at: datetime, logged: Logged) -> bool:
    company_id, user_id, epoch, password_hash = change
    await db.next_position(company_id, 0)  # locks: in the order of all that log
    advanced = await db.execute(
        f"UPDATE users SET epoch = $3, epoch_kept = $4, epoch_until = $5, "
        f"password_hash = coalesce(CAST($6 AS TEXT), password_hash){_NOTED[db.dialect]} "
        "WHERE company_id = $1 AND id = $2 AND epoch = $3 - 1",
        *(company_id, user_id, epoch.number, epoch.kept, iso(epoch.until), password_hash),
    )
    if advanced != 1:
        return False
    await db.execute(_END_OTHERS, user_id, epoch.kept, iso(at))
    if password_hash is not None:
        await end_password_resets(db, company_id, user_id, iso(at))
    await log(db, logged)
    return True


async def epochs(db: Database, after: datetime) -> dict[str, TokenEpoch]:
    """The epochs by user that earlier tokens may still outlive at that time."""
    return epochs_of(await db.rows(f"{_EPOCH} WHERE epoch > 0 AND epoch_until > $1", iso(after)))


async def drop_sessions(db: Database, before: datetime) -> int:
    """Drop a bounded number, so that no other write waits long; returns how many."""
    return await db.execute(_DROP, iso(before), DROP_MAX)


def epochs_of(rows: Sequence[Row]) -> dict[str, TokenEpoch]:
    return {user_id: TokenEpoch(number, kept, datetime.fromisoformat(until)) for user_id, number, kept, until in rows}


def _user(session: UserSession) -> tuple[str, str]:
    return session.company_id, session.user_id
