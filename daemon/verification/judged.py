"""Comparison of the cases that panels are calibrated by with the histories that they come from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from daemon.model.reports.projection import JudgedVisit
from daemon.stores.database import Row
from daemon.stores.tables.audit_source import AuditSource
from daemon.stores.tables.reports.judged import JUDGED, judged_row
from daemon.verification.findings import Counts, Finding

TABLE = "report_judged"


class JudgedVisits:
    """The visits that the histories know, to be compared with the rows that reports keep."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str, int], Row] = {}

    def take(self, visits: Sequence[JudgedVisit]) -> None:
        self._known |= {(one.company_id, one.run_id, one.seq): judged_row(one) for one in visits}

    def findings(self, source: AuditSource, archived: set[tuple[str, str]], counts: Counts) -> Iterator[Finding]:
        """Nothing is known of `archived` runs; and reports follow a little behind the histories."""
        for row in source.table(TABLE, JUDGED) if TABLE in source.tables else ():
            counts["judged visits"] += 1
            company_id, run_id, seq = row["company_id"], row["run_id"], row["seq"]
            known = self._known.pop((company_id, run_id, seq), None)
            if known is None and (company_id, run_id) not in archived:
                yield Finding("judged", _where(company_id, run_id, seq), "no history leads to it: it was inserted")
            elif known is not None and known != tuple(row.values()):
                yield Finding("judged", _where(company_id, run_id, seq), "it is not what the history leads to")
        for company_id, run_id, seq in self._known if TABLE in source.tables else ():
            if source.counted(company_id, run_id, seq):
                what = "reports do not count what the history leads to: it was deleted"
                yield Finding("judged", _where(company_id, run_id, seq), what)


def _where(company_id: str, run_id: str, seq: int) -> str:
    return f"the case of event {seq} of run {run_id} of {company_id!r}"
