"""The budgets of what a company stores: counted in the background, exactly when near the end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice

from actors.core.messages import Event
from actors.core.run import Run
from daemon.model.budgets import BudgetExceeded, Usage
from daemon.stores.store import Store

LOOK_S = 5.0
COMMITS_MAX = 2_000
STEPS_MAX = 20
COMPANIES_MAX = 200
EXACT_S = 1.0
STARTING_S = 60.0
KNOWN_S = 3_600.0


@dataclass(slots=True)
class UsageCache:
    """What is known of a company: what was counted, and the runs begun since."""

    usage: Usage = Usage()  # noqa: RUF009 - immutable
    used_at: float = 0.0
    exact_at: float | None = None
    changed: bool = True
    starting: dict[str, float] = field(default_factory=dict)
    committed: set[str] = field(default_factory=set)

    @property
    def runs(self) -> int:
        return self.usage.runs + len(self.starting) + len(self.committed)

    def apply(self, counted: Usage, within: set[str], at: float) -> None:
        """Take in what was counted at a time, with the runs `within` it."""
        self.usage, self.exact_at = counted, at
        self.committed -= within
        self.starting = {run: began for run, began in self.starting.items() if began + STARTING_S > at}


class StoredBudgets:
    """Refuses new runs and settings beyond a budget; what has begun goes on, whatever it stores.

    A start costs a look into memory. Bytes are known as of the last count, some seconds ago.
    """

    def __init__(
        self, store: Store, runs_max: int, bytes_max: int, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._store = store
        self._runs_max = runs_max
        self._bytes_max = bytes_max
        self._monotonic = monotonic
        self._known: dict[str, UsageCache] = {}
        self._counting = asyncio.Lock()

    async def begin_run(self, company_id: str, run_id: str) -> None:
        """Count a run that is about to start; BudgetExceeded beyond the budgets."""
        known = await self._of(company_id)
        if known.runs >= self._runs_max and not self._is_exact(known):
            await self._count([company_id])
        if known.runs >= self._runs_max:
            detail = f"This company has {known.usage.runs} runs, as many as it may."
            raise BudgetExceeded("company_runs", self._runs_max, detail)
        self._check_bytes(known)
        known.starting[run_id] = self._monotonic()

    async def store_more(self, company_id: str) -> None:
        """BudgetExceeded for a company that may not store any more."""
        self._check_bytes(await self._of(company_id))

    def committed(self, run: Run, events: Sequence[Event]) -> None:
        """Take in a commit; the first one of a run ends its start."""
        known = self._known.get(run.company_id)
        if known is None:
            return
        known.changed = True
        if run.version == len(events) and known.starting.pop(run.id, None) is not None:
            known.committed.add(run.id)

    async def run_once(self) -> None:
        """Count what was committed since, and forget companies that store nothing new."""
        old = self._monotonic() - KNOWN_S
        for company_id in [one for one, known in self._known.items() if known.used_at < old and not known.starting]:
            del self._known[company_id]
        companies = list(islice((one for one, known in self._known.items() if known.changed), COMPANIES_MAX))
        for company_id in companies:
            self._known[company_id] = known = self._known.pop(company_id)  # behind those that wait longer
            known.changed = False
        await self._count(companies)

    def _is_exact(self, known: UsageCache) -> bool:
        return known.exact_at is not None and self._monotonic() < known.exact_at + EXACT_S

    def _check_bytes(self, known: UsageCache) -> None:
        if known.usage.stored_bytes >= self._bytes_max:
            detail = f"This company stores {known.usage.stored_bytes} bytes, more than it may."
            raise BudgetExceeded("company_stored_bytes", self._bytes_max, detail)

    async def _of(self, company_id: str) -> UsageCache:
        known = self._known.get(company_id)
        if known is None:
            known = self._known[company_id] = UsageCache()
        known.used_at = self._monotonic()
        if known.exact_at is None:
            await self._count([company_id])
        return known

    async def _count(self, companies: Sequence[str]) -> None:
        """Count up to the present, or a bounded part of it."""
        async with self._counting:
            at, known = self._monotonic(), {one: self._known[one] for one in companies if one in self._known}
            within = {company_id: set(one.committed) for company_id, one in known.items()}
            for _ in range(STEPS_MAX):
                if not await self._store.count_usage(companies, COMMITS_MAX):
                    break
            counted = await self._store.usage(companies)
            for company_id, one in known.items():
                one.apply(counted.get(company_id, Usage()), within[company_id], at)
