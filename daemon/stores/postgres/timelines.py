"""The timelines of a database: each promotion of a standby begins a higher one.

A server on a lower timeline than one that was seen has been replaced, and its history ends nowhere.
On a higher one the last commits may be missing, which were acknowledged before.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import asyncpg
import structlog

from actors.ports import StoreFailed
from daemon.runtime.durable_files import write_beside

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from daemon.stores.postgres.hosts import Db

FILE = "database.timeline"
ACKNOWLEDGED_MAX = 20_000
"""How many of the last acknowledged commits are looked for after a failover."""
_TIMELINE = (
    "SELECT system_identifier::text, ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int "
    "FROM pg_control_system()"
)
_LOST = (
    "SELECT company_id, position FROM unnest($1::text[], $2::bigint[], $3::bytea[]) "
    "AS mine(company_id, position, head) WHERE NOT EXISTS (SELECT FROM commits "
    "WHERE commits.company_id = mine.company_id AND commits.position = mine.position AND commits.head = mine.head)"
)
_HEADS = (
    "SELECT company_id, position, head FROM commits "
    "JOIN unnest($1::text[], $2::bigint[]) AS mine(company_id, position) USING (company_id, position)"
)
_log = structlog.get_logger("penstock")


class Timeline(NamedTuple):
    """A database, and how often a standby of it was promoted."""

    system: str
    number: int


class Placed(NamedTuple):
    """A commit at its position in a company, with the head after it."""

    company_id: str
    position: int
    head: bytes


class LostCommits(NamedTuple):
    """What a company lost of the commits that this daemon acknowledged."""

    company_id: str
    commits: int
    first: int


class Timelines:
    """The highest timeline that this daemon has seen, in memory and in a file."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._known = None if path is None else _read(path)
        self._seen: Timeline | None = None
        self.rises = 0
        self.risen = asyncio.Event()
        """Set while the history behind a failover is not compared yet."""

    async def check(self, db: Db) -> None:
        """Note the timeline of a server; StoreFailed where another one has taken its place."""
        found, known = await self.refuse_replaced(db), self._known
        if found is None or found == self._seen:
            return
        if self._seen is not None:
            _log.warning("timeline_risen", before=self._seen.number, now=found.number)
            self.rises += 1
            self.risen.set()
        elif known is not None and found.system != known.system:
            _log.warning("database_replaced", hint="it is not the one that this daemon served last")
        self._seen = found
        self._keep(found)

    async def refuse_replaced(self, db: Db) -> Timeline | None:
        """The timeline of a server; StoreFailed where another one has taken its place."""
        found, known = await _timeline(db), self._known
        if found is not None and known is not None and found.system == known.system and found.number < known.number:
            raise StoreFailed(
                f"The server continues timeline {found.number} of the database, and timeline {known.number} was seen: "
                "another server has taken its place.",
                "not_applied",
            )
        return found

    def _keep(self, found: Timeline) -> None:
        if found != self._known:
            self._known = found
            if self._path is not None:
                write_beside(self._path, json.dumps(found._asdict()).encode(), 0o600).replace(self._path)


def _read(path: Path) -> Timeline | None:
    with suppress(OSError, ValueError, TypeError):
        return Timeline(**json.loads(path.read_bytes()))
    return None


async def _timeline(db: Db) -> Timeline | None:
    """The server's timeline; None where it tells none, as some that are managed do."""
    try:
        return Timeline(*await db.fetchrow(_TIMELINE))
    except (asyncpg.InsufficientPrivilegeError, asyncpg.FeatureNotSupportedError, asyncpg.UndefinedFunctionError) as no:
        _log.info("timeline_unknown", reason=str(no), hint="a failover of the database is not noticed")
        return None


class Acknowledgements:
    """The last commits that this daemon acknowledged."""

    def __init__(self) -> None:
        self._last: deque[Placed] = deque(maxlen=ACKNOWLEDGED_MAX)

    def note(self, placed: Iterable[Placed]) -> None:
        self._last.extend(placed)

    async def lost(self, db: Db) -> Sequence[LostCommits]:
        """What the database lacks of them, by company."""
        last = list(self._last)
        columns = [[one[column] for one in last] for column in range(3)]
        rows = await db.fetch(_LOST, *columns)
        found: dict[str, LostCommits] = {}
        for company_id, position in rows:
            _, commits, first = found.get(company_id, LostCommits(company_id, 0, position))
            found[company_id] = LostCommits(company_id, commits + 1, min(first, position))
        return list(found.values())


async def read_heads(db: Db, places: Sequence[tuple[str, int]]) -> Sequence[Placed]:
    """The commits at positions in companies."""
    rows = await db.fetch(_HEADS, [company_id for company_id, _ in places], [position for _, position in places])
    return [Placed(*row) for row in rows]
