"""Queries for what other daemons have committed, and notifications of it."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from actors.ports import StoreFailed
from daemon.model.people.companies import ACTION_PAUSES, AUTONOMY, POLICY
from daemon.stores.postgres.connection import PLANNER, PostgresConnection
from daemon.stores.postgres.lease import HOLDERS, Fenced
from daemon.stores.tables.people.credentials import ENROLMENT, enrolments_of
from daemon.stores.tables.people.members import STANDING, standings_of
from daemon.stores.tables.people.sessions import epochs_of
from daemon.stores.tables.people.settings import settings_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from daemon.model import MembershipState, TokenEpoch
    from daemon.model.people.companies import StoredSetting
    from daemon.model.people.credentials import Enrolment
    from daemon.stores.database import Database, Key, Row
    from daemon.stores.postgres.connection import Db
    from daemon.stores.postgres.database import PostgresDatabase
    from daemon.stores.postgres.timelines import Timelines


LATELY_S = 10
STRAYED_MAX = 1_000

_POSITIONS = "SELECT company_id, position FROM clocks WHERE company_id = ANY($1::text[])"
VERSIONS = (
    "SELECT one.* FROM unnest($1::text[], $2::text[]) AS asked(company_id, id) CROSS JOIN LATERAL (SELECT company_id, "
    "id, version FROM runs WHERE runs.company_id = asked.company_id AND runs.id = asked.id LIMIT 1) AS one"
)
# What a daemon has not acknowledged it has not heard of, however long ago it looked or began.
_OWN = "WITH own AS (SELECT heard - make_interval(secs => $1) AS since FROM daemons WHERE epoch = $2) "
_LATELY = "> (SELECT since FROM own)"
_STRAYED = (
    "(SELECT company_id, id, version FROM runs WHERE epoch = $2 AND NOT resting AND moved_by <> epoch "
    "ORDER BY company_id, id LIMIT $3) AS strayed"
)
# A transaction begins before it takes its snapshot: the rows have all that was committed by `at`.
_PARTS = {
    "at": ("now()", "(VALUES (1)) AS once"),
    "peers": ("epoch", "daemons"),
    "abandoned": ("epoch", f"({HOLDERS}) AS left_over"),
    "strayed": ("company_id, id, version", _STRAYED),
    "revocations": ("token_id, expires_at", f"revocations WHERE noted_at {_LATELY}"),
    "epochs": ("id, epoch, epoch_kept, epoch_until", f"users WHERE epoch_noted_at {_LATELY}"),
    "standings": (STANDING, f"members WHERE noted_at {_LATELY}"),
    "key_deletions": ("encode(key_hash, 'hex')", f"api_keys WHERE noted_at {_LATELY}"),
    "connectors": ("company_id", f"connector_changes WHERE noted_at {_LATELY}"),
    "servers": ("company_id", f"mcp_server_changes WHERE noted_at {_LATELY}"),
    "publications": ("company_id", f"own_templates WHERE noted_at {_LATELY}"),
    "policies": ("company_id, policy, number", f"policies WHERE noted_at {_LATELY}"),
    "autonomies": ("company_id, autonomy, number", f"autonomies WHERE noted_at {_LATELY}"),
    "pauses": ("company_id, pauses, number", f"action_pauses WHERE noted_at {_LATELY}"),
    "companies": ("company_id, noted_at", f"company_changes WHERE noted_at {_LATELY}"),
    "enrolments": (ENROLMENT, f"second_factors WHERE noted_at {_LATELY}"),
}
POLL = _OWN + " UNION ALL ".join(
    f"SELECT '{kind}', jsonb_build_array({columns})::text FROM {source}"  # noqa: S608 - names of our own
    for kind, (columns, source) in _PARTS.items()
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


class PeerChanges(NamedTuple):
    """What other daemons have noted since this one heard of it last, known as of `at`.

    And how they and their work stand.
    """

    at: datetime
    peers: frozenset[int]
    abandoned: bool
    """Whether there is outstanding work of daemons that are gone."""
    strayed: dict[Key, int]
    """The versions of runs that this daemon owns and another daemon has moved on."""
    revocations: dict[str, datetime]
    epochs: dict[str, TokenEpoch]
    standings: dict[str, MembershipState]
    key_deletions: Sequence[bytes]
    connectors: frozenset[str]
    publications: frozenset[str]
    policies: Sequence[StoredSetting[Any]]
    autonomies: Sequence[StoredSetting[Any]]
    pauses: Sequence[StoredSetting[Any]]
    companies: dict[str, datetime]
    enrolments: dict[str, Enrolment]

    @property
    def noted(self) -> bool:
        """Whether there is anything that other daemons wait for."""
        return any(self[4:])


async def poll_changes(db: PostgresDatabase) -> PeerChanges:
    """All of it in one statement; Fenced where others have taken over."""
    found: dict[str, list[Row]] = {kind: [] for kind in _PARTS}
    for kind, row in await db.rows(POLL, LATELY_S, db.epoch, STRAYED_MAX):
        found[kind].append(tuple(json.loads(row)))
    if (db.epoch,) not in found["peers"]:
        raise Fenced
    return PeerChanges(
        at=datetime.fromisoformat(found["at"][0][0]),
        peers=frozenset(epoch for (epoch,) in found["peers"]),
        abandoned=bool(found["abandoned"]),
        strayed={(company_id, run_id): version for company_id, run_id, version in found["strayed"]},
        revocations={token_id: datetime.fromisoformat(until) for token_id, until in found["revocations"]},
        epochs=epochs_of(found["epochs"]),
        standings=standings_of(found["standings"]),
        key_deletions=[bytes.fromhex(key_hash) for (key_hash,) in found["key_deletions"]],
        connectors=frozenset(company_id for (company_id,) in found["connectors"] + found["servers"]),
        publications=frozenset(company_id for (company_id,) in found["publications"]),
        policies=settings_of(POLICY, found["policies"]),
        autonomies=settings_of(AUTONOMY, found["autonomies"]),
        pauses=settings_of(ACTION_PAUSES, found["pauses"]),
        companies={company_id: datetime.fromisoformat(at) for company_id, at in found["companies"]},
        enrolments=enrolments_of(found["enrolments"]),
    )


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
OF_RUN = "/"
"""What parts a company from the run of it whose claims have changed."""
NOTIFY_PAUSE_S = 0.05
LISTEN_S = 5.0


class Notifications:
    """NOTIFY of commits made here, outside their transactions since it locks; LISTEN to others."""

    def __init__(self, url: str, timelines: Timelines | None = None) -> None:
        self.sending = PostgresConnection(url, timelines=timelines)
        endless = {**PLANNER, "idle_session_timeout": "0"}
        self._listening = PostgresConnection(url, planner=endless, timelines=timelines)
        self._changed: set[str] = set()
        self._for_all = False
        self._due = asyncio.Event()
        self._listener: Callable[[frozenset[str] | None], None] | None = None
        self._claimed: Callable[[str, str], None] = lambda *_: None

    def wrote(self, company_id: str) -> None:
        self._changed.add(company_id)
        self._due.set()

    def claimed(self, company_id: str, run_id: str) -> None:
        """Tell of a gate that was claimed or released, which no commit tells of."""
        self.wrote(f"{company_id}{OF_RUN}{run_id}")

    def alert(self) -> None:
        """Have every daemon look."""
        self._for_all = True
        self._due.set()

    def subscribe(self, listener: Callable[[frozenset[str] | None], None], claimed: Callable[[str, str], None]) -> None:
        self._listener, self._claimed = listener, claimed

    async def send(self) -> None:
        """Wait for a change and send it, with all others of that moment."""
        await self._due.wait()
        self._due.clear()
        named = json.dumps([] if self._for_all else sorted(self._changed))
        payload = named if len(named) <= PAYLOAD_BYTES_MAX else "[]"
        self._changed, self._for_all = set(), False
        try:
            with suppress(StoreFailed):
                await self.sending.use(lambda db: db.execute("SELECT pg_notify($1, $2)", CHANNEL, payload))
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
        if self._listener is None:
            return
        named = [one.partition(OF_RUN) for one in json.loads(str(payload))]
        for company_id, _, run_id in named:
            if run_id:
                self._claimed(company_id, run_id)
        companies = frozenset([company_id for company_id, _, run_id in named if not run_id])
        if companies or not named:
            self._listener(companies or None)  # none named: it may be any

    async def close(self) -> None:
        await asyncio.gather(self.sending.close(), self._listening.close())
