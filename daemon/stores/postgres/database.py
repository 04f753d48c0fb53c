"""Statements on PostgreSQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from actors.ports import INLINE
from daemon.model.pages import Enough, Page, fill, never
from daemon.stores.postgres.connection import without_nul

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from actors.ports import Compute
    from daemon.keys.commit_keys import CommitKeys
    from daemon.stores.database import Dialect, Row
    from daemon.stores.postgres.connection import Db

T = TypeVar("T")
FETCHED_FIRST, FETCHED_MAX = 4, 64
COPIED_MIN = 8
"""From so many rows on they are copied: PostgreSQL then logs them by the page."""
NEXT_POSITION = (
    "INSERT INTO clocks (company_id, position) VALUES ($1, $2) ON CONFLICT (company_id) DO UPDATE "
    "SET position = clocks.position + excluded.position RETURNING position"
)
_OTHERS = "SELECT EXISTS (SELECT 1 FROM daemons WHERE epoch <> $1 AND until > clock_timestamp())"


class PostgresDatabase:
    dialect: Dialect = "postgres"

    def __init__(self, connection: Db, keys: CommitKeys, epoch: int = 0, compute: Compute = INLINE) -> None:
        self._compute = compute
        self.connection = connection
        self.keys = keys
        self.epoch = epoch
        self.places: list[tuple[str, int]] = []
        """The positions that were given to commits."""

    async def rows(self, statement: str, *values: Any) -> Sequence[Row]:
        return [tuple(row) for row in await self.connection.fetch(statement, *_stored(values))]

    async def page(self, statement: str, *values: Any, least: int = 1, enough: Enough = never) -> Page[Row]:
        page: Page[Row] = Page()
        async with self.connection.transaction(readonly=True):
            cursor = await self.connection.cursor(statement, *_stored(values))
            asked = FETCHED_FIRST
            while rows := await cursor.fetch(asked):
                if not fill(page, map(tuple, rows), least, enough):
                    break
                asked = min(asked * 2, FETCHED_MAX)
        return page

    async def row(self, statement: str, *values: Any) -> Row | None:
        row = await self.connection.fetchrow(statement, *_stored(values))
        return None if row is None else tuple(row)

    async def value(self, statement: str, *values: Any) -> Any:
        return await self.connection.fetchval(statement, *_stored(values))

    async def execute(self, statement: str, *values: Any) -> int:
        status = await self.connection.execute(statement, *_stored(values))
        return int(status.rpartition(" ")[2])  # "DELETE 3"

    async def execute_each(self, statement: str, rows: Sequence[Row]) -> None:
        await self.connection.executemany(statement, [_stored(row) for row in rows])

    async def insert(self, into: str, rows: Sequence[Row], *, skip_known: bool = False) -> None:
        if len(rows) >= COPIED_MIN and not skip_known:
            table, _, columns = into.rstrip(")").partition(" (")
            await self.connection.copy_records_to_table(
                table, records=[_stored(row) for row in rows], columns=columns.split(", ")
            )
        elif rows:
            values = ", ".join(f"${number}" for number in range(1, len(rows[0]) + 1))
            known = "ON CONFLICT DO NOTHING" if skip_known else ""
            await self.execute_each(f"INSERT INTO {into} VALUES ({values}) {known}", rows)  # noqa: S608 - names of our own

    async def run_by_size(self, company_id: str, size: int, work: Callable[[], T]) -> T:
        return await self._compute.run_by_size(company_id, size, work)

    async def next_position(self, company_id: str, commits: int = 1) -> int:
        position: int = await self.connection.fetchval(NEXT_POSITION, company_id, commits)
        if commits:
            self.places.append((company_id, position))
        return position

    async def has_peers(self) -> bool:
        found: bool = await self.connection.fetchval(_OTHERS, self.epoch)
        return found


def _stored(values: Sequence[Any]) -> Row:
    return tuple([_stored_value(value) for value in values])


def _stored_value(value: Any) -> Any:
    if isinstance(value, str):
        return without_nul(value)
    return [*map(_stored_value, value)] if isinstance(value, list) else value
