"""Comparison of the rows by which lists leave runs out with what the histories lead to."""

from __future__ import annotations

import json
from collections.abc import Iterator

from actors.core.reading.scope import GLASS, STARTER, SUBJECT, ClosedBy, guarded_rows
from actors.core.run import Run
from daemon.stores.database import Key, Row
from daemon.stores.tables.audit_source import AuditSource
from daemon.stores.tables.reading import reader_row
from daemon.verification.findings import AuditFinding


class RunReaders:
    """Who may find a run that not everybody reads, by its history and its template.

    Whether a company narrowed a vertical when a run began is not compared: the rows of those who
    started it may be there. Whom it is about cannot be, once something of it is redacted.
    """

    def __init__(self, source: AuditSource) -> None:
        self._source = source
        self._guards = dict(_guards(source))

    def findings(self, key: Key, run: Run, *, redacted: bool) -> Iterator[AuditFinding]:
        """What is wrong with the rows of a run that is not archived."""
        guard = self._guards.get(run.template_digest, ClosedBy(run.template_digest, False, ()))  # noqa: FBT003 - a member
        expected = {reader_row(one) for one in guarded_rows(run, guard)}
        allowed = expected | {reader_row(one) for one in guarded_rows(run, guard, narrowed=True)}
        yield from self._compare(key, expected, allowed, (SUBJECT,) if redacted else ())

    def of_archived(self, key: Key, run: Run) -> Iterator[AuditFinding]:
        """What is wrong with the rows of one that is: of its history the template is left."""
        guard = self._guards.get(run.template_digest, ClosedBy(run.template_digest, False, ()))  # noqa: FBT003 - a member
        expected = {reader_row(one) for one in guarded_rows(run, guard)}
        yield from self._compare(key, expected, expected, (STARTER, SUBJECT, GLASS))

    def _compare(
        self, key: Key, expected: set[Row], allowed: set[Row], unknown: tuple[str, ...]
    ) -> Iterator[AuditFinding]:
        found = {row for row in self._source.readers(*key) if row[0] not in unknown}
        for kind, name, _ in sorted(found - allowed, key=str):
            what = f"lists have a row for {kind} {name!r}, which its history does not lead to"
            yield AuditFinding("readers", _where(key), what)
        for kind, name, _ in sorted(expected - found, key=str):
            if kind not in unknown:
                what = f"lists have no row for {kind} {name!r}, which its history leads to"
                yield AuditFinding("readers", _where(key), what)


def readers_alone(source: AuditSource) -> Iterator[AuditFinding]:
    """Rows of runs that are not there."""
    for company_id, run_id in source.readers_without_runs():
        yield AuditFinding("readers", _where((company_id, run_id)), "there is no such run")


def _where(key: Key) -> str:
    return f"run {key[1]} of {key[0]!r}"


def _guards(source: AuditSource) -> Iterator[tuple[str, ClosedBy]]:
    """The templates that name readers or subjects; what cannot be read is found elsewhere."""
    tables = [name for name in ("templates", "own_templates") if name in source.tables]
    for row in (one for name in tables for one in source.table(name, ("digest", "document"))):
        try:
            value = json.loads(row["document"])
            guard = ClosedBy(row["digest"], value.get("readers") is not None, tuple(value.get("subjects") or ()))
        except (ValueError, TypeError, AttributeError, RecursionError):
            continue
        if guard.names_readers or guard.subjects:
            yield guard.digest, guard
