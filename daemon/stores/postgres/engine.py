"""Applies a writer's batches to PostgreSQL, one transaction for each company."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeAlias

import structlog

from actors.ports import StoreFailed
from daemon.stores.postgres.database import PostgresDatabase
from daemon.stores.postgres.journal import Appended, PostgresAppend, append_all
from daemon.stores.postgres.lease import Fenced, alive
from daemon.stores.postgres.timelines import Placed, read_heads

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from daemon.keys.commit_keys import CommitKeys
    from daemon.observability.metrics import Metrics
    from daemon.stores.postgres.connection import Db, PostgresConnection

_log = structlog.get_logger()
Settled: TypeAlias = tuple[Any, Exception | None]


@dataclass(frozen=True, slots=True)
class Work:
    """A write for a company, in a transaction of its own."""

    company_id: str
    run: Callable[[PostgresDatabase], Awaitable[Any]]


class PostgresEngine:
    def __init__(
        self,
        connection: PostgresConnection,
        epoch: Callable[[], int],
        keys: CommitKeys,
        *,
        wrote: Callable[[str], None],
        fenced: Callable[[], None],
        acknowledged: Callable[[Iterable[Placed]], None],
        metrics: Metrics | None = None,
    ) -> None:
        """`wrote` receives the company of a durable commit; `fenced` is called at a lost lease.

        `acknowledged` receives where the commits stand that callers are told of.
        """
        self._connection = connection
        self._epoch = epoch
        self._keys = keys
        self._wrote = wrote
        self._fenced = fenced
        self._acknowledged = acknowledged
        self._metrics = metrics

    async def apply(self, works: Sequence[PostgresAppend | Work]) -> Sequence[Settled]:
        """Run the works; each company's commits go together, and a failure stays within them."""
        settled: list[Settled] = [(None, None)] * len(works)
        places: dict[str, list[int]] = {}
        for place, work in enumerate(works):
            places.setdefault(work.company_id, []).append(place)
        for company_id, mine in places.items():
            for kind, group in groupby(mine, lambda place: type(works[place])):
                alike = list(group)
                if kind is PostgresAppend:
                    done = await self._append(company_id, [works[place] for place in alike])
                else:
                    done = [await self._run(works[place]) for place in alike]
                for place, one in zip(alike, done, strict=True):
                    settled[place] = one
        return settled

    async def after_batch(self) -> None:
        """PostgreSQL has nothing to tidy up."""

    async def _append(self, company_id: str, appends: Sequence[Any]) -> Sequence[Settled]:
        async def together(db: Db) -> Appended:
            return await append_all(db, company_id, self._epoch(), appends)

        try:
            done, placed = await self._connection.use(together, writing=True)
        except StoreFailed as failure:
            self._failure(failure)
            return [(None, type(failure)(str(failure), failure.outcome)) for _ in appends]
        except Exception as error:  # noqa: BLE001 - a fault of ours goes to whoever submitted it
            return [(None, error)] * len(appends)
        if isinstance(done[0][1], Fenced):
            self._fenced()
        self._acknowledged(placed)
        self._wrote(company_id)
        return done

    async def _run(self, work: Any) -> Settled:
        async def together(db: Db) -> tuple[Any, Sequence[Placed]]:
            async with db.transaction():
                await alive(db, self._epoch())
                database = PostgresDatabase(db, self._keys, self._epoch())
                value = await work.run(database)
                return value, await read_heads(db, database.places) if database.places else ()

        try:
            value, placed = await self._connection.use(together, writing=True)
        except Fenced as fenced:
            self._fenced()
            return None, fenced
        except StoreFailed as failure:
            self._failure(failure)
            return None, failure
        except Exception as refusal:  # noqa: BLE001 - a work's own exception goes to whoever submitted it
            return None, refusal
        self._acknowledged(placed)
        self._wrote(work.company_id)
        return value, None

    def _failure(self, failure: StoreFailed) -> None:
        _log.warning("store_batch_failed", detail=str(failure), outcome=failure.outcome)
        if self._metrics is not None:
            self._metrics.store_failure(failure.outcome)
