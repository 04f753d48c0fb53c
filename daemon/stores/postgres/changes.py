"""Queries for what other daemons have committed, and notifications of it."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from actors.ports import StoreFailed
from daemon.stores.postgres.connection import PLANNER, PostgresConnection
from daemon.stores.tables.people.credentials import ENROLMENT, enrolments_of
from daemon.stores.tables.people.members import standings_of
from daemon.stores.tables.people.sessions import epochs_of
from daemon.stores.tables.people.settings import settings_where

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from daemon.model import MembershipState, TokenEpoch
    from daemon.model.people.companies import CompanySetting, StoredSetting
    from daemon.model.people.credentials import Enrolment
    from daemon.stores.database import Database, Key
    from daemon.stores.postgres.connection import Db
    from daemon.stores.postgres.database import PostgresDatabase
    from daemon.stores.postgres.timelines import Timelines


T = TypeVar("T")
LATELY_S = 10
STRAYED_MAX = 1_000

_POSITIONS = "SELECT company_id, position FROM clocks WHERE company_id = ANY($1::text[])"
VERSIONS = (
    "SELECT one.* FROM unnest($1::text[], $2::text[]) AS asked(company_id, id) CROSS JOIN LATERAL (SELECT company_id, "
    "id, version FROM runs WHERE runs.company_id = asked.company_id AND runs.id = asked.id LIMIT 1) AS one"
)
_STRAYED = (
    "SELECT company_id, id, version FROM runs WHERE epoch = $1 AND NOT resting AND moved_by <> epoch "
    "ORDER BY company_id, id LIMIT $2"
)
_REVOKED = "SELECT token_id, expires_at FROM revocations WHERE noted_at > clock_timestamp() - make_interval(secs => $1)"
_EPOCHS = (
    "SELECT id, epoch, epoch_kept, epoch_until FROM users "
    "WHERE epoch_noted_at > clock_timestamp() - make_interval(secs => $1)"
)
_STANDINGS = (
    "SELECT id, CASE status WHEN 'active' THEN role END, changed_at, company_id FROM members "
    "WHERE noted_at > clock_timestamp() - make_interval(secs => $1)"
)
_DELETED_KEYS = "SELECT key_hash FROM api_keys WHERE noted_at > clock_timestamp() - make_interval(secs => $1)"
_CONNECTED = (
    "SELECT DISTINCT company_id FROM connector_changes WHERE noted_at > clock_timestamp() - make_interval(secs => $1)"
)
_PUBLISHED = (
    "SELECT DISTINCT company_id FROM own_templates WHERE noted_at > clock_timestamp() - make_interval(secs => $1)"
)
_LATELY = "noted_at > clock_timestamp() - make_interval(secs => $1)"
_CHANGED = (
    "SELECT company_id, noted_at FROM company_changes WHERE noted_at > clock_timestamp() - make_interval(secs => $1)"
)
_ACKNOWLEDGED = (
    "SELECT NOT EXISTS (SELECT 1 FROM daemons WHERE epoch <> $1 AND until > clock_timestamp() AND heard < $2)"
)
_HIT = """
INSERT INTO rates (who, hits) VALUES ($1, ARRAY[now()]) ON CONFLICT (who) DO UPDATE SET hits = (
    SELECT CASE WHEN count(*) < $2 THEN coalesce(array_agg(hit ORDER BY hit), '{}') || now()
        ELSE array_agg(hit ORDER BY hit) END
    FROM unnest(rates.hits) AS hit WHERE hit > now() - make_interval(secs => $3)
) RETURNING hits[cardinality(hits)] = now(), extract(epoch FROM hits[1] - now())::float8 + $3
"""

_HITS = """
SELECT count(*), coalesce(extract(epoch FROM min(hit) - now())::float8, 0) + $2
FROM rates CROSS JOIN unnest(hits) AS hit WHERE who = $1 AND hit > now() - make_interval(secs => $2)
"""


async def positions(db: PostgresDatabase, companies: Collection[str]) -> dict[str, int]:
    return dict(await db.rows(_POSITIONS, list(companies)))


async def versions(db: PostgresDatabase, keys: Collection[Key]) -> dict[Key, int]:
    rows = await db.rows(VERSIONS, [key[0] for key in keys], [key[1] for key in keys])
    return {(company_id, run_id): version for company_id, run_id, version in rows}


async def moved_by_others(db: PostgresDatabase) -> dict[Key, int]:
    """The versions of runs that this daemon owns and another daemon has moved on."""
    rows = await db.rows(_STRAYED, db.epoch, STRAYED_MAX)
    return {(company_id, run_id): version for company_id, run_id, version in rows}


async def recent_revocations(db: PostgresDatabase) -> dict[str, datetime]:
    rows = await db.rows(_REVOKED, LATELY_S)
    return {token_id: datetime.fromisoformat(expires_at) for token_id, expires_at in rows}


async def recent_epochs(db: PostgresDatabase) -> dict[str, TokenEpoch]:
    return epochs_of(await db.rows(_EPOCHS, LATELY_S))


async def recent_standings(db: PostgresDatabase) -> dict[str, MembershipState]:
    return standings_of(await db.rows(_STANDINGS, LATELY_S))


async def recent_key_deletions(db: PostgresDatabase) -> Sequence[bytes]:
    return [bytes(row[0]) for row in await db.rows(_DELETED_KEYS, LATELY_S)]


async def recent_connector_changes(db: PostgresDatabase) -> Sequence[str]:
    return [row[0] for row in await db.rows(_CONNECTED, LATELY_S)]


async def recent_publications(db: PostgresDatabase) -> Sequence[str]:
    return [row[0] for row in await db.rows(_PUBLISHED, LATELY_S)]


async def recent_settings(db: PostgresDatabase, kind: CompanySetting[T]) -> Sequence[StoredSetting[T]]:
    return await settings_where(db, kind, _LATELY, LATELY_S)


async def recent_company_changes(db: PostgresDatabase) -> dict[str, datetime]:
    return dict(await db.rows(_CHANGED, LATELY_S))


async def recent_enrolments(db: PostgresDatabase) -> dict[str, Enrolment]:
    return enrolments_of(await db.rows(f"{ENROLMENT} WHERE {_LATELY}", LATELY_S))


async def peers(db: PostgresDatabase) -> frozenset[int]:
    return frozenset(row[0] for row in await db.rows("SELECT epoch FROM daemons"))


async def database_time(db: PostgresDatabase) -> datetime:
    at: datetime = await db.value("SELECT clock_timestamp()")
    return at


async def acknowledge(db: PostgresDatabase, since: datetime) -> None:
    """Record that this daemon knows all changes of tokens and connectors before that time."""
    await db.execute("UPDATE daemons SET heard = $2 WHERE epoch = $1", db.epoch, since)


async def acknowledged(db: PostgresDatabase, since: datetime) -> bool:
    """Whether all other live daemons know the changes before that time."""
    known: bool = await db.value(_ACKNOWLEDGED, db.epoch, since)
    return known


async def hit(db: PostgresDatabase, who: str, amount: int, window_s: float) -> float | None:
    """Count a hit; above `amount` within the window, return the seconds until there is room."""
    done, wait_s = await db.row(_HIT, who, amount, window_s) or (True, 0.0)
    return None if done else max(0.0, wait_s)


async def hits(db: PostgresDatabase, who: str, amount: int, window_s: float) -> tuple[int, float]:
    """How many hits there are within the window, and the seconds until the first one leaves it."""
    count, wait_s = await db.row(_HITS, who, window_s) or (0, 0.0)
    return min(count, amount), wait_s


async def drop_rates(db: Database) -> None:
    await db.execute("DELETE FROM rates WHERE hits[cardinality(hits)] < now() - interval '1 day'")


CHANNEL = "penstock"
PAYLOAD_BYTES_MAX = 7_000
NOTIFY_PAUSE_S = 0.02
LISTEN_S = 1.0


class Notifications:
    """NOTIFY of commits made here, outside their transactions since it locks; LISTEN to others."""

    def __init__(self, url: str, timelines: Timelines | None = None) -> None:
        self._sending = PostgresConnection(url, timelines=timelines)
        endless = {**PLANNER, "idle_session_timeout": "0"}
        self._listening = PostgresConnection(url, planner=endless, timelines=timelines)
        self._changed: set[str] = set()
        self._for_all = False
        self._due = asyncio.Event()
        self._listener: Callable[[frozenset[str] | None], None] | None = None

    def wrote(self, company_id: str) -> None:
        self._changed.add(company_id)
        self._due.set()

    def alert(self) -> None:
        """Have every daemon look."""
        self._for_all = True
        self._due.set()

    def subscribe(self, listener: Callable[[frozenset[str] | None], None]) -> None:
        self._listener = listener

    async def send(self) -> None:
        """Wait for a change and send it, with all others of that moment."""
        await self._due.wait()
        self._due.clear()
        named = json.dumps([] if self._for_all else sorted(self._changed))
        payload = named if len(named) <= PAYLOAD_BYTES_MAX else "[]"
        self._changed, self._for_all = set(), False
        try:
            with suppress(StoreFailed):
                await self._sending.use(lambda db: db.execute("SELECT pg_notify($1, $2)", CHANNEL, payload))
        except Exception:
            self.alert()  # it is not known of which: all have to look
            raise

    async def listen(self) -> None:
        """Listen, on a new connection when the last one was lost."""
        with suppress(StoreFailed):
            await self._listening.use(self._listen)

    async def _listen(self, db: Db) -> None:
        await db.add_listener(CHANNEL, self._take)
        await db.fetchval("SELECT 1")

    def _take(self, _db: Any, _pid: int, _channel: str, payload: object) -> None:
        if self._listener is not None:
            self._listener(frozenset(json.loads(str(payload))) or None)  # none named: it may be any

    async def close(self) -> None:
        await asyncio.gather(self._sending.close(), self._listening.close())
