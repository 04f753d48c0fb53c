"""What other daemons have committed: asked for again and again, whether a hint has come or not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from daemon.stores.postgres.connection import without_nul

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import datetime

    from daemon.stores.postgres.connection import Db

LATELY_S = 10
STRAYED_MAX = 1_000

_POSITIONS = "SELECT company_id, position FROM clocks WHERE company_id = ANY($1::text[])"
_VERSIONS = (
    "SELECT one.* FROM unnest($1::text[], $2::text[]) AS asked(company_id, id) CROSS JOIN LATERAL (SELECT company_id, "
    "id, version FROM runs WHERE runs.company_id = asked.company_id AND runs.id = asked.id LIMIT 1) AS one"
)
_STRAYED = (
    "SELECT company_id, id, version FROM runs WHERE epoch = $1 AND NOT resting AND moved_by <> epoch "
    "ORDER BY company_id, id LIMIT $2"
)
_REVOKED = "SELECT token_id, expires_at FROM revocations WHERE noted_at > clock_timestamp() - make_interval(secs => $1)"
_CONNECTED = (
    "SELECT DISTINCT company_id FROM connector_changes WHERE noted_at > clock_timestamp() - make_interval(secs => $1)"
)
_HEAR = "UPDATE daemons SET heard = $2 WHERE epoch = $1"
_HEARD = "SELECT NOT EXISTS (SELECT 1 FROM daemons WHERE epoch <> $1 AND until > clock_timestamp() AND heard < $2)"
_HIT = """
INSERT INTO rates (who, hits) VALUES ($1, ARRAY[now()]) ON CONFLICT (who) DO UPDATE SET hits = (
    SELECT CASE WHEN count(*) < $2 THEN coalesce(array_agg(hit ORDER BY hit), '{}') || now()
        ELSE array_agg(hit ORDER BY hit) END
    FROM unnest(rates.hits) AS hit WHERE hit > now() - make_interval(secs => $3)
) RETURNING hits[cardinality(hits)] = now(), extract(epoch FROM hits[1] - now())::float8 + $3
"""
_DROP_RATES = "DELETE FROM rates WHERE hits[cardinality(hits)] < now() - interval '1 hour'"


async def positions(db: Db, companies: Collection[str]) -> dict[str, int]:
    """How far each of these companies has come."""
    return {row[0]: row[1] for row in await db.fetch(_POSITIONS, list(companies))}


async def versions(db: Db, keys: Collection[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """The version of each of these runs."""
    rows = await db.fetch(_VERSIONS, [key[0] for key in keys], [key[1] for key in keys])
    return {(row[0], row[1]): row[2] for row in rows}


async def strayed(db: Db, epoch: int) -> dict[tuple[str, str], int]:
    """The runs whose outstanding work is this daemon's and that another one has moved on, with their version."""
    return {(row[0], row[1]): row[2] for row in await db.fetch(_STRAYED, epoch, STRAYED_MAX)}


async def revoked_lately(db: Db) -> Sequence[tuple[str, str]]:
    """The tokens revoked within the last seconds."""
    return [(row[0], row[1]) for row in await db.fetch(_REVOKED, LATELY_S)]


async def connected_lately(db: Db) -> Sequence[str]:
    """The companies whose connectors were changed within the last seconds."""
    return [row[0] for row in await db.fetch(_CONNECTED, LATELY_S)]


async def clock(db: Db) -> datetime:
    """The database's time."""
    at: datetime = await db.fetchval("SELECT clock_timestamp()")
    return at


async def hear(db: Db, epoch: int, since: datetime) -> None:
    """Note that this daemon knows of all tokens and connectors that were changed before that time."""
    await db.execute(_HEAR, epoch, since)


async def heard(db: Db, epoch: int, since: datetime) -> bool:
    """Whether all other daemons that are alive know what was changed before that time."""
    known: bool = await db.fetchval(_HEARD, epoch, since)
    return known


async def hit(db: Db, who: str, amount: int, window_s: float) -> float | None:
    """Count one of at most `amount` within that time; in how many seconds there is room, where there is none."""
    done, wait_s = await db.fetchrow(_HIT, without_nul(who), amount, window_s)
    return None if done else max(0.0, wait_s)


async def drop_rates(db: Db) -> None:
    """Forget the counts of those who have not come for an hour."""
    await db.execute(_DROP_RATES)
