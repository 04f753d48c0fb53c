"""Verification of a store: histories, trees, derived rows, and what the logs say of tables."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path

import msgspec

from actors.core.canonical import canonical
from actors.core.run import Run
from actors.ports import StoreFailed
from daemon.keys.commit_keys import CommitKeys
from daemon.model import SchemaMismatch
from daemon.model.audit_events import SERVICE
from daemon.model.chain import ChainWalk, HistoryBroken, genesis
from daemon.model.events.retention import RunRedacted
from daemon.model.evidence import Checkpoint
from daemon.model.inbox import gate_rows
from daemon.model.reports.projection import FollowedCommit, Projection
from daemon.runtime.clock import utc_now
from daemon.stores import codec
from daemon.stores.database import Reader, Row
from daemon.stores.rows import run_row, run_timer, text
from daemon.stores.sqlite.inspection import reading
from daemon.stores.tables.audit_source import AuditSource
from daemon.verification import trees
from daemon.verification.archived import GoneHistory, still_there, unmarked
from daemon.verification.findings import Counts, Finding, called, wrong_against
from daemon.verification.judged import JudgedVisits
from daemon.verification.logs import Fold
from daemon.verification.macs import wrong_macs
from daemon.verification.redacted import Redactions
from daemon.verification.tables import compare_all

COLUMNS = ("version", "resting", "status", "parked", "updated_at", "vertical", "created_at", "wake_at", "reviewed")
"""The columns of a run's row that its history leads to."""
BUSINESS_KEY = len(COLUMNS)
SNAPSHOT = BUSINESS_KEY + 1


def verify_store(
    path: Path,
    keys: Mapping[str, bytes],
    against: Sequence[Checkpoint] = (),
    counts: Counts | None = None,
    now: datetime | None = None,
    *,
    commit_keys: CommitKeys | None = None,
) -> Iterator[Finding]:
    """The findings in a SQLite store; `now` decides which ended tokens still matter."""
    try:
        with reading(path) as reader:
            yield from verify_reader(reader, keys, against, counts, now, commit_keys=commit_keys)
    except sqlite3.Error as error:
        yield Finding("database", str(path), f"it cannot be read: {error}")


def verify_database(
    url: str,
    keys: Mapping[str, bytes],
    against: Sequence[Checkpoint] = (),
    counts: Counts | None = None,
    now: datetime | None = None,
    *,
    commit_keys: CommitKeys | None = None,
) -> Iterator[Finding]:
    """The findings in a PostgreSQL database."""
    from daemon.stores.postgres.reader import reading as reading_postgres  # noqa: PLC0415 - most do without PostgreSQL

    try:
        with reading_postgres(url) as reader:
            yield from verify_reader(reader, keys, against, counts, now, commit_keys=commit_keys)
    except StoreFailed as failure:
        yield Finding("database", "PostgreSQL", f"it cannot be read: {failure}")


def verify_reader(
    reader: Reader,
    keys: Mapping[str, bytes],
    against: Sequence[Checkpoint] = (),
    counts: Counts | None = None,
    now: datetime | None = None,
    *,
    commit_keys: CommitKeys | None = None,
) -> Iterator[Finding]:
    """The findings in a store; those of MACs only with the keys of commits."""
    counts = Counts() if counts is None else counts
    try:
        for name, what in reader.unlike_migrations():
            yield Finding("schema", name, what)
    except SchemaMismatch as mismatch:
        yield Finding("schema", "the database", str(mismatch))
        return
    source, fold = AuditSource(reader), Fold()
    yield from _Streams(source, fold, counts).findings()
    fold.settle()
    yield from compare_all(source, fold, text(now or utc_now()), counts)
    if commit_keys is not None:
        yield from wrong_macs(source, commit_keys, counts)
    for company_id in source.companies():
        yield from trees.tree(source, company_id, keys, counts)
    yield from trees.passed_over(source)
    yield from trees.recorded(source, fold.roots, complete=fold.complete)
    for one in against:
        yield from wrong_against(one, keys, source.size(one.company), partial(source.node, one.company))


class _Streams:
    """All streams, and the rows derived from them."""

    def __init__(self, source: AuditSource, fold: Fold, counts: Counts) -> None:
        self._source = source
        self._fold = fold
        self._tally = counts
        self._gone: list[GoneHistory] = []
        self._redactions = Redactions()
        self._judged = JudgedVisits()

    def findings(self) -> Iterator[Finding]:
        for (company_id, stream), commits in groupby(self._source.commits(), itemgetter(0, 1)):
            self._tally["streams"] += 1
            if company_id in (stream, SERVICE):
                yield from self._log((company_id, stream), commits)
            else:
                yield from self._run_or_hashes((company_id, stream), commits)
        yield from self._archived()
        yield from self._redactions.findings(self._tally, {one.key[1] for one in self._gone})
        yield from self._judged.findings(self._source, {one.key for one in self._gone}, self._tally)
        for company_id, run_id in self._source.runs_without_commits():
            yield Finding("run", f"run {run_id} of {company_id!r}", "it has no history: that was deleted or moved")
        for company_id, run_id, step_id in self._source.gates_without_runs():
            yield Finding("gate", f"{step_id} of run {run_id} of {company_id!r}", "there is no such run")
        for (run,) in self._source.snapshots_without_runs():
            yield Finding("snapshot", f"snapshot of run {run}", "there is no such run")

    def _walked(self, key: tuple[str, str], commits: Iterable[Row]) -> Iterator[tuple[Row, Finding | None]]:
        """The commits of a stream, each with its finding in the chain."""
        walk, finding = ChainWalk(key[1], genesis(*key)), None
        for row in commits:
            _, _, version, first, head, _, events = row
            self._tally["commits"] += 1
            try:
                self._tally["events"] += len(walk.take(first, version, head, events))
                finding = None
            except HistoryBroken as broken:
                finding = Finding("chain", f"{called(key[1])}, event {broken.seq}", broken.what)
                walk.seq, walk.head = version, head or b""
            if finding is None and not _canonical(events):
                finding = Finding("form", f"{called(key[1])}, event {first}", "the events are not canonical JSON")
            yield row, finding

    def _log(self, key: tuple[str, str], commits: Iterable[Row]) -> Iterator[Finding]:
        for (_, _, _, first, _, exact, events), finding in self._walked(key, commits):
            if finding is not None:
                yield finding
            where = f"{called(key[1])}, event {first}"
            if exact is not None:
                yield Finding("form", where, "it has a second form, which no log has")
            try:
                for event in codec.decode_log(events):
                    self._fold.take(key[0], event)
                    if isinstance(event, RunRedacted):
                        self._redactions.record(key[0], msgspec.to_builtins(event))
            except ValueError as error:
                yield Finding("event", where, f"it cannot be read: {_first_line(error)}")

    def _run(self, key: tuple[str, str], commits: Iterable[Row]) -> Iterator[Finding]:
        found, run, readable, version = self._source.run(*key), None, True, 0
        reported = Projection({})
        kept = None if found is None else found[SNAPSHOT]
        ends = False
        for (_, _, reached, first, _, exact, events), finding in self._walked(key, commits):
            version = reached
            ends = ends or version == kept
            if finding is not None:
                yield finding
            self._redactions.take(key, first, events)
            try:
                if readable:
                    decoded = codec.decode_events(events, exact)
                    run = codec.fold(decoded, run)
                    reported.take(FollowedCommit(*key, run.vertical, first, decoded))
            except (ValueError, RecursionError) as error:
                readable, run = False, None
                what = f"no run can go on like this: {_first_line(error)}"
                yield Finding("event", f"{called(key[1])}, event {first}", what)
            if run is not None and found is not None and kept == run.version:
                yield from _snapshot(run, found)
        self._judged.take(reported.judged)
        if kept is not None and not ends:
            yield Finding("snapshot", f"run {key[1]} of {key[0]!r}", f"it is of version {kept}, where no commit ends")
        yield from _row(key, run, version, found)
        yield from unmarked(key, found, archived=False)
        if run is not None:
            yield from _listed(key, run, self._source.gates(*key))

    def _run_or_hashes(self, key: tuple[str, str], commits: Iterator[Row]) -> Iterator[Finding]:
        first = next(commits)
        look = self._run if first[-1] else self._without_events
        yield from look(key, chain((first,), commits))

    def _without_events(self, key: tuple[str, str], commits: Iterable[Row]) -> Iterator[Finding]:
        """A run of which hashes are left; the logs are compared when all are read."""
        walk, complete = ChainWalk(key[1], genesis(*key)), True
        self._tally["archived runs"] += 1
        for _, _, version, first, head, exact, events in commits:
            self._tally["commits"] += 1
            try:
                walk.pass_over(first, version, head or b"")
            except HistoryBroken as broken:
                yield Finding("chain", f"{called(key[1])}, event {broken.seq}", broken.what)
                walk.seq, walk.head = version, head or b""
            complete = complete and not events and exact is None
        self._gone.append(GoneHistory(key, walk.seq, walk.head, self._source.run(*key), complete))

    def _archived(self) -> Iterator[Finding]:
        """Compare runs without events with what the logs say of their archives."""
        known = self._fold.archived
        for one in self._gone:
            archived = known.get(one.key)
            yield from one.findings(archived)
            yield from _row(one.key, None if archived is None else archived.run, one.version, one.found)
            yield from unmarked(one.key, one.found, archived=archived is not None)
            if one.found is not None and one.found[SNAPSHOT] is not None:
                yield Finding("snapshot", f"run {one.key[1]} of {one.key[0]!r}", "it is of a run without events")
        yield from still_there(known, self._gone)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def _canonical(events: bytes) -> bool:
    try:
        return all(canonical(json.loads(line)).encode() == line for line in events.split(b"\n"))
    except (ValueError, RecursionError):
        return False


def _snapshot(run: Run, found: Row) -> Iterator[Finding]:
    """Compare a snapshot with the run folded from its history."""
    version, schema, body = found[SNAPSHOT : SNAPSHOT + 3]
    where = f"run {run.id}, snapshot of version {version}"
    if schema == codec.SNAPSHOT_SCHEMA:
        try:
            kept_run = codec.decode_run(body)
        except ValueError:
            yield Finding("snapshot", where, "it cannot be read")
            return
        if _written(kept_run) != _written(run):
            yield Finding("snapshot", where, "it is not what the history leads to")


def _written(run: Run) -> bytes:
    return msgspec.json.encode(run, order="sorted")


def _row(key: tuple[str, str], run: Run | None, version: int, found: Row | None) -> Iterator[Finding]:
    """Compare the row of a run with the run folded from its history."""
    where = f"run {key[1]} of {key[0]!r}"
    if found is None:
        yield Finding("run", where, "there are commits and no run")
        return
    if found[0] != version:
        yield Finding("run", where, f"it stands at version {found[0]}, and its history ends at event {version}")
    if run is not None:
        if (run.company_id, run.id) != key:
            yield Finding("run", where, f"its history is that of {run.id} of {run.company_id!r}")
        for name, kept_value, folded in zip(COLUMNS, found, (*run_row(run), *run_timer(run)), strict=False):
            # The gates beside a failed branch were not written down before they could be decided.
            unsaid = name == "parked" and run.status == "failed" and kept_value == ""
            if kept_value != folded and name != "version" and not unsaid:
                yield Finding("run", where, f"{name} is {kept_value!r}, and its history leads to {folded!r}")
        if found[BUSINESS_KEY] != run.business_key:
            what = f"business_key is {found[BUSINESS_KEY]!r}, and its history leads to {run.business_key!r}"
            yield Finding("run", where, what)


def _listed(key: tuple[str, str], run: Run, rows: Sequence[Row]) -> Iterator[Finding]:
    """Compare what the inbox lists of a run; one without a row is listed when a daemon starts."""
    expected = {one.step_id: (run.vertical, *one[1:]) for one in gate_rows(run)}
    where = f"of run {key[1]} of {key[0]!r}"
    for step_id, *listed in rows:
        if expected.pop(step_id, None) != tuple(listed):
            yield Finding("gate", f"{step_id} {where}", "the inbox does not list what its history leads to")
    if rows:
        for step_id in expected:
            yield Finding("gate", f"{step_id} {where}", "it is open, and the inbox does not list it")
