"""The connections of a PostgreSQL store: some to read by, and for writes some lanes, each company's in one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast
from zlib import crc32

import structlog

from actors.ports import StoreFailed
from daemon.model.chain import HistoryBroken
from daemon.stores.postgres.connection import Db, Link
from daemon.stores.postgres.engine import Work

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from datetime import datetime

    from daemon.observability.metrics import Metrics
    from daemon.stores.group_commit import Writer
    from daemon.stores.postgres.lease import Lease

T = TypeVar("T")
READERS = 3
_log = structlog.get_logger("penstock")


class PostgresAccess:
    """What every part of the store reads and writes by."""

    lease: Lease

    def __init__(self, url: str, clock: Callable[[], datetime], metrics: Metrics | None) -> None:
        """Connect there, when it is first needed; the lanes come when the lease is held."""
        self._clock = clock
        self._metrics = metrics
        self._readers = [Link(url) for _ in range(READERS)]
        self._lanes: list[Writer[Link]] = []

    def _lane(self, company_id: str) -> Writer[Link]:
        return self._lanes[crc32(company_id.encode()) % len(self._lanes)]

    async def _write(self, company_id: str, work: Callable[[Db], Awaitable[T]]) -> T:
        return cast("T", await self._lane(company_id).submit(cast("Any", Work(company_id, work))))

    async def _read(self, query: Callable[[Db], Awaitable[T]]) -> T:
        """Run a query on the reader with the least to do."""
        reader = min(self._readers, key=lambda one: one.waiting)
        try:
            return await reader.use(query)
        except HistoryBroken as broken:
            self._not_read("history_broken", str(broken), "damaged")
            raise
        except StoreFailed as failure:
            self._not_read("store_read_failed", str(failure), "read")
            raise
        except ValueError as error:
            self._not_read("store_read_failed", str(error), "read")
            raise StoreFailed(f"The store could not be read: {error}.", "not_applied") from error

    async def _taking(self, query: Callable[[Db], Awaitable[T]]) -> T:
        """Run what looks and takes in one, as a read: whoever does not hear what it took asks again."""
        return await self._read(query)

    def _not_read(self, event: str, detail: str, kind: str) -> None:
        _log.error(event, detail=detail)
        if self._metrics is not None:
            self._metrics.store_failure(kind)
