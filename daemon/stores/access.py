"""How repositories reach a database: reading, writing, and waiting for other daemons."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from datetime import datetime
from typing import Any, Concatenate, ParamSpec, TypeVar

from daemon.stores.database import Work

P = ParamSpec("P")
T = TypeVar("T")


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
