"""Keeps reports up to date, and the records of the steps that panels hear."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime

from actors.core.autonomy import UNRECORDED, WINDOW, Record, record_key
from actors.core.messages import Event
from actors.core.run import Run
from actors.core.template import Template
from actors.ports import StoreFailed
from daemon.model.reports.questions import KEPT, JudgedCase, JudgedStep, record_of
from daemon.stores.store import Store

LOOK_S = 10.0
ALL_LOOKED = 360
"""After so many looks, about an hour, all companies are looked at."""
COMMITS_MAX = 200
STEPS_MAX = 50
"""How many batches a reader waits for at most; after an upgrade there may be many more."""


class ReportFollower:
    """Counts what was committed; a commit itself costs one entry in a set."""

    def __init__(self, store: Store, now: Callable[[], datetime], *, shared: bool) -> None:
        """`shared` where each company's commits have an order of their own."""
        self._store = store
        self._now = now
        self._shared = shared
        self._changed: set[str] = set()
        self._following = asyncio.Lock()
        self._looks = 0

    def committed(self, run: Run, _: Sequence[Event]) -> None:
        self._changed.add(self._order_of(run.company_id))

    async def run_once(self) -> None:
        """Count what was committed since; now and then what other daemons left, too."""
        with suppress(StoreFailed):
            if self._looks % ALL_LOOKED == 0:
                self._changed |= set(await self._store.reports_behind())
            self._looks += 1
            for order in sorted(self._changed):
                self._changed.discard(order)
                try:
                    complete = await self._follow(order)
                except StoreFailed:
                    self._changed.add(order)
                    raise
                if not complete:
                    self._changed.add(order)

    async def catch_up(self, company_id: str) -> bool:
        """Count what was committed so far, or a bounded part of it; returns whether it is all."""
        return await self._follow(self._order_of(company_id))

    async def _follow(self, order: str) -> bool:
        """Count the next commits, batch by batch; returns whether all are counted."""
        for _ in range(STEPS_MAX):
            async with self._following:
                since = (self._now() - KEPT).date()
                if not await self._store.follow_commits(order, COMMITS_MAX, since):
                    return True
        return False

    def _order_of(self, company_id: str) -> str:
        """Whose commits are counted together."""
        return company_id if self._shared else ""


KEPT_MAX = 200
"""So many steps are kept as they were counted last."""


class StepRecords:
    """Counts cases when a turn asks for them; nothing is known while commits are left to count."""

    def __init__(self, store: Store, reports: ReportFollower) -> None:
        self._store = store
        self._reports = reports
        self._kept: OrderedDict[tuple[str, JudgedStep], tuple[Sequence[JudgedCase], Record]] = OrderedDict()

    async def for_template(
        self, company_id: str, template: Template, weighed: frozenset[tuple[str, str]] = frozenset()
    ) -> Mapping[str, Record]:
        if not await self._reports.catch_up(company_id):
            return UNRECORDED
        steps = {(step_id, "") for step_id in template.judged} | weighed
        return {
            record_key(*one): await self._record(
                company_id, JudgedStep(template.vertical, one[0], template.version, one[1])
            )
            for one in sorted(steps)
        }

    async def _record(self, company_id: str, step: JudgedStep) -> Record:
        cases = await self._store.judged_cases(company_id, step, WINDOW)
        known = self._kept.pop((company_id, step), None)
        if known is None or known[0] != cases:
            known = cases, record_of(cases)
        self._kept[company_id, step] = known
        while len(self._kept) > KEPT_MAX:
            self._kept.popitem(last=False)
        return known[1]
