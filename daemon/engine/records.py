"""What is known of the steps that panels hear, with every decision that was committed."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence

from actors.core.autonomy import UNRECORDED, WINDOW, Record
from actors.core.template import Template
from daemon.engine.reports import ReportFollower
from daemon.model.reports.judged import JudgedCase, JudgedStep, record_of
from daemon.stores.store import Store

KEPT_MAX = 200
"""So many steps are kept as they were counted last."""


class StepRecords:
    """Counts cases when a turn asks for them; nothing is known while commits are left to count."""

    def __init__(self, store: Store, reports: ReportFollower) -> None:
        self._store = store
        self._reports = reports
        self._kept: OrderedDict[tuple[str, JudgedStep], tuple[Sequence[JudgedCase], Record]] = OrderedDict()

    async def of(self, company_id: str, template: Template) -> Mapping[str, Record]:
        if not await self._reports.catch_up(company_id):
            return UNRECORDED
        return {
            step_id: await self._record(company_id, JudgedStep(template.vertical, step_id, template.version))
            for step_id in template.judged
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
