"""Statements on SQLite, where each is done when the call returns."""

from __future__ import annotations

import re
import sqlite3
from bisect import bisect_right
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

from actors.failpoints import reach
from daemon.model.pages import Enough, Page, fill, never

if TYPE_CHECKING:
    from daemon.keys.commit_keys import CommitKeys
    from daemon.stores.database import Dialect, Row

T = TypeVar("T")
# At most three of them make any number up to the last; so few statements stay prepared.
SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)


class SqliteDatabase:
    """A connection within its own thread; no call waits."""

    dialect: Dialect = "sqlite"
    epoch = 0

    def __init__(self, db: sqlite3.Connection, keys: CommitKeys) -> None:
        self.connection = db
        self.keys = keys

    async def rows(self, statement: str, *values: Any) -> Sequence[Row]:
        return self.connection.execute(numbered(statement), values).fetchall()

    async def page(self, statement: str, *values: Any, least: int = 1, enough: Enough = never) -> Page[Row]:
        page: Page[Row] = Page()
        with closing(self.connection.execute(numbered(statement), values)) as cursor:
            fill(page, cursor, least, enough)
        return page

    async def row(self, statement: str, *values: Any) -> Row | None:
        row: Row | None = self.connection.execute(numbered(statement), values).fetchone()
        return row

    async def value(self, statement: str, *values: Any) -> Any:
        row = await self.row(statement, *values)
        return None if row is None else row[0]

    async def execute(self, statement: str, *values: Any) -> int:
        return self.connection.execute(numbered(statement), values).rowcount

    async def execute_each(self, statement: str, rows: Sequence[Row]) -> None:
        self.connection.executemany(numbered(statement), rows)

    async def insert(self, into: str, rows: Sequence[Row], *, skip_known: bool = False) -> None:
        if rows:
            known = "ON CONFLICT DO NOTHING" if skip_known else ""
            _inserting(into, len(rows[0]), known).write(self.connection, rows)

    async def run_by_size(self, company_id: str, size: int, work: Callable[[], T]) -> T:  # noqa: ARG002 - in a thread already
        return work()

    async def next_position(self, company_id: str, commits: int = 1) -> None:
        """SQLite numbers the commits itself and has one writer."""

    async def has_peers(self) -> bool:
        return False


def run(work: Callable[[SqliteDatabase], Awaitable[T]], db: sqlite3.Connection, keys: CommitKeys) -> T:
    """Run a work to its end, in this thread."""
    steps = work(SqliteDatabase(db, keys)).__await__()
    try:
        next(steps)
    except StopIteration as done:
        result: T = done.value
        return result
    raise AssertionError("a work on SQLite waited for something else")


@lru_cache(maxsize=256)
def numbered(statement: str) -> str:
    return re.sub(r"\$(\d)", r"?\1", statement)


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """A statement around a list of VALUES, each row with the same number of columns.

    At each statement the event loop can take the interpreter away: few are better than many.
    """

    before: str
    columns: int
    after: str = ""

    def write(self, db: sqlite3.Connection, rows: Sequence[Row]) -> int:
        if not rows:
            return 0
        written = 0
        for cursor in (db.execute(_statement(self, 1), rows[0]),) if len(rows) == 1 else self._run(db, rows):
            written += cursor.rowcount
            reach("between-statements")
        return written

    def read(self, db: sqlite3.Connection, rows: Sequence[Row]) -> list[Row]:
        return [row for cursor in self._run(db, rows) for row in cursor.fetchall()]

    def _run(self, db: sqlite3.Connection, rows: Sequence[Row]) -> Iterator[sqlite3.Cursor]:
        start, end = 0, len(rows)
        while start < end:
            size = SIZES[bisect_right(SIZES, end - start) - 1]
            yield db.execute(_statement(self, size), [*chain.from_iterable(rows[start : start + size])])
            start += size


@lru_cache(maxsize=256)
def _statement(rows: Rows, size: int) -> str:
    row = f"({', '.join('?' * rows.columns)})"
    return f"{rows.before} VALUES {', '.join([row] * size)} {rows.after}"


@lru_cache(maxsize=256)
def _inserting(into: str, columns: int, known: str) -> Rows:
    return Rows(f"INSERT INTO {into}", columns, known)
