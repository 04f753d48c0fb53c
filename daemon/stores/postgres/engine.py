"""PostgreSQL under the group-commit writer: what waits is committed company by company, one transaction each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

import structlog

from actors.ports import StoreFailed
from daemon.stores.postgres.append import Append, append_all, waves
from daemon.stores.postgres.connection import Db, Link
from daemon.stores.postgres.lease import Fenced, alive

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daemon.observability.metrics import Metrics

_log = structlog.get_logger()
CallResult = tuple[Any, Exception | None]


@dataclass(frozen=True, slots=True)
class Work:
    """What is written for a company in a transaction of its own."""

    company_id: str
    run: Callable[[Db], Awaitable[Any]]

    def __call__(self, _db: Link) -> None:
        """Works are run by the engine."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Appended:
    """A commit of a company, which shares its statement with others."""

    append: Append

    @property
    def company_id(self) -> str:
        """Whose commit it is."""
        return self.append.commit.run.company_id

    def __call__(self, _db: Link) -> object:
        """Commits are run by the engine."""
        raise NotImplementedError


class PostgresEngine:
    """Runs batches on one connection, in the name of one daemon."""

    def __init__(
        self,
        link: Link,
        epoch: Callable[[], int],
        *,
        wrote: Callable[[str], None],
        fenced: Callable[[], None],
        metrics: Metrics | None = None,
    ) -> None:
        """`wrote` hears which company's commits became durable, `fenced` that nothing may be written any more."""
        self._link = link
        self._epoch = epoch
        self._wrote = wrote
        self._fenced = fenced
        self._metrics = metrics

    async def apply(self, works: Sequence[Any]) -> Sequence[CallResult]:
        """Run the works; each company's commits together, and what fails fails for those alone that it concerns."""
        settled: list[CallResult] = [(None, None)] * len(works)
        places: dict[str, list[int]] = {}
        for place, work in enumerate(works):
            places.setdefault(work.company_id, []).append(place)
        for mine in places.values():
            for appends, group in groupby(mine, lambda place: isinstance(works[place], Appended)):
                alike = list(group)
                if appends:
                    await self._append(works, alike, settled)
                else:
                    for place in alike:
                        settled[place] = await self._run(works[place])
        return settled

    async def rest(self) -> None:
        """There is nothing to tidy up."""

    async def _append(self, works: Sequence[Any], places: list[int], settled: list[CallResult]) -> None:
        company_id = works[places[0]].company_id
        place = iter(places)
        for wave in waves([works[at].append for at in places]):
            try:
                done: Sequence[CallResult] = await self._link.use(
                    lambda db, wave=wave: append_all(db, company_id, self._epoch(), wave),  # type: ignore[misc]
                    writing=True,
                )
            except StoreFailed as failure:
                self._failure(failure)
                done = [(None, type(failure)(str(failure), failure.outcome)) for _ in wave]
            except Exception as error:  # noqa: BLE001 - a fault of ours goes to whoever submitted it
                done = [(None, error)] * len(wave)
            for one in done:
                settled[next(place)] = one
                if isinstance(one[1], Fenced):
                    self._fenced()
            self._wrote(company_id)

    async def _run(self, work: Work) -> CallResult:
        async def together(db: Db) -> Any:
            async with db.transaction():
                await alive(db, self._epoch())
                return await work.run(db)

        try:
            value = await self._link.use(together, writing=True)
        except Fenced as fenced:
            self._fenced()
            return None, fenced
        except StoreFailed as failure:
            self._failure(failure)
            return None, failure
        except Exception as refusal:  # noqa: BLE001 - a work's own exception goes to whoever submitted it
            return None, refusal
        self._wrote(work.company_id)
        return value, None

    def _failure(self, failure: StoreFailed) -> None:
        _log.warning("store_batch_failed", detail=str(failure), outcome=failure.outcome)
        if self._metrics is not None:
            self._metrics.store_failure(failure.outcome)
