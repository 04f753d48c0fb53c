"""The operations that the tables use, and how repositories reach a database."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, Protocol, TypeAlias, TypeVar

from daemon.model.pages import Enough, Page, never

if TYPE_CHECKING:
    from daemon.keys.commit_keys import CommitKeys


Dialect: TypeAlias = Literal["sqlite", "postgres"]
Row: TypeAlias = tuple[Any, ...]
Key: TypeAlias = tuple[str, str]
T = TypeVar("T")


class Database(Protocol):
    """A connection inside a transaction; statements number their parameters as $1, $2 and so on."""

    dialect: Dialect
    keys: CommitKeys
    epoch: int
    """The lease of this daemon; 0 where no other daemon can share the database."""

    async def rows(self, statement: str, *values: Any) -> Sequence[Row]: ...

    async def page(self, statement: str, *values: Any, least: int = 1, enough: Enough = never) -> Page[Row]:
        """The first rows: as many as fit into a page's bytes, and `least` in any case."""

    async def row(self, statement: str, *values: Any) -> Row | None: ...

    async def value(self, statement: str, *values: Any) -> Any:
        """The first column of the first row; None without a row."""

    async def execute(self, statement: str, *values: Any) -> int:
        """Run a statement; returns the number of rows it changed."""

    async def execute_each(self, statement: str, rows: Sequence[Row]) -> None:
        """Run a statement with the values of each row."""

    async def insert(self, into: str, rows: Sequence[Row], *, skip_known: bool = False) -> None:
        """Insert rows into `table (column, …)`; `skip_known` leaves existing rows as they are."""

    async def run_by_size(self, company_id: str, size: int, work: Callable[[], T]) -> T:
        """The value of `work()` on so many bytes, which must not hold up the event loop."""

    async def next_position(self, company_id: str, commits: int = 1) -> int | None:
        """Lock and advance a company's commit order; None where the database numbers commits."""

    async def has_peers(self) -> bool:
        """Whether another daemon holds its lease at this moment."""


Work: TypeAlias = Callable[[Database], Awaitable[T]]


class Reader(Protocol):
    """Statements on one state of a database; parameters are numbered as $1, $2 and so on."""

    @property
    def dialect(self) -> Dialect: ...

    def rows(self, statement: str, *values: Any) -> Iterator[Row]: ...

    def row(self, statement: str, *values: Any) -> Row | None: ...

    def columns(self) -> dict[str, Sequence[str]]:
        """The columns of each table."""

    def unlike_migrations(self) -> Iterator[tuple[str, str]]:
        """(Object of the schema, what is wrong) where it is not what the migrations made."""


P = ParamSpec("P")


class Access:
    """A database; a store implements `_read` and `_write`."""

    _clock: Callable[[], datetime]

    async def _read(self, query: Work[T]) -> T:
        """Run a query; HistoryBroken or StoreFailed when the database cannot be read."""
        raise NotImplementedError

    async def _write(self, company_id: str, work: Work[T]) -> T:
        """Run a work in a transaction, among the writes of that company."""
        raise NotImplementedError

    async def _await_peers(self) -> None:
        """Wait until every other daemon knows the change that was just committed."""


def read(
    query: Callable[Concatenate[Any, P], Awaitable[T]],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """The method that runs a query on a reading connection."""

    async def method(self: Access, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._read(lambda db: query(db, *args, **kwargs))

    return method


def write(
    work: Callable[Concatenate[Any, P], Awaitable[T]],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """The method that runs a work among the writes of the company of its first argument."""

    async def method(self: Access, /, *args: P.args, **kwargs: P.kwargs) -> T:
        first: Any = args[0]
        company_id = first if isinstance(first, str) else first.company_id
        return await self._write(company_id, lambda db: work(db, *args, **kwargs))

    return method
