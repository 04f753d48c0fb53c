"""The repository of reports over a database."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from daemon.stores.access import Access, read
from daemon.stores.group_commit import drop_all
from daemon.stores.tables.reports import entries, following, judged, numbers

if TYPE_CHECKING:
    from datetime import date


class ReportRepositories(Access):
    """Reports of companies, kept from their commits."""

    shared: bool

    reports_behind = read(following.companies_behind)
    report_totals = read(numbers.report_totals)
    report_days = read(numbers.report_days)
    report_gates = read(numbers.report_gates)
    report_people = read(numbers.report_people)
    report_steps = read(numbers.report_steps)
    report_tools = read(numbers.report_tools)
    reported_decisions = read(entries.reported_decisions)
    reported_failures = read(entries.reported_failures)
    reported_gates = read(entries.reported_gates)
    judged_cases = read(judged.judged_cases)
    judged_steps = read(judged.judged_steps)

    async def follow_commits(self, company_id: str, commits_max: int, since: date) -> bool:
        """Read and fold on a reading connection; the writer has to store the rows alone."""
        holder = company_id if self.shared else ""
        found = await self._read(partial(following.later_commits, holder=holder, commits_max=commits_max))
        if found is None:
            return False
        keep = partial(following.keep_following, found=found, since=since.isoformat())
        kept = await self._write(holder, keep)
        return found.more or not kept

    async def drop_reports(self, before: date) -> int:
        drop = partial(following.drop_reports, before=before.isoformat())
        return await drop_all(lambda: self._write("", drop))
