"""Verification of a store: histories, trees, derived rows, and what the logs say of them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path

import msgspec

from actors.core.canonical import canonical
from actors.core.run import Run
from actors.ports import StoreFailed
from daemon.audit import evidence
from daemon.keys.commit_keys import CommitKeys
from daemon.model import SchemaMismatch, merkle
from daemon.model.actions import action_row
from daemon.model.audit_events import SERVICE
from daemon.model.chain import ChainWalk, CommitForged, HistoryBroken, genesis, text_of_hash
from daemon.model.commitments.salted import holds_redacted
from daemon.model.events.company import RunRedacted
from daemon.model.evidence import CHECKPOINT, StoredCheckpoint, leaf
from daemon.model.inbox import gate_rows
from daemon.model.reports.projection import FollowedCommit, JudgedVisit, Projection
from daemon.model.retention.records import Archived
from daemon.runtime.clock import utc_now
from daemon.stores import codec
from daemon.stores.database import Key, Reader, Row
from daemon.stores.rows import iso, run_row, run_timer
from daemon.stores.sqlite.inspection import reading
from daemon.stores.tables.agents.actions import ACTIONS
from daemon.stores.tables.audit_source import AuditSource
from daemon.stores.tables.reports.following import JUDGED
from daemon.verification.findings import (
    AuditFinding,
    Counts,
    called,
    wrong_against,
    wrong_previous,
    wrong_root,
    wrong_signature,
)
from daemon.verification.logs import Fold
from daemon.verification.readers import RunReaders, readers_alone
from daemon.verification.runs import Redactions
from daemon.verification.tables import compare_all


def tree(source: AuditSource, company_id: str, keys: Mapping[str, bytes], counts: Counts) -> Iterator[AuditFinding]:
    """Verify the leaves, nodes and checkpoints of a company."""
    size = 0
    node = partial(source.node, company_id)
    for row in source.leaves(company_id):
        yield from _leaf(company_id, size, row)
        size = row[0] + 1
    yield from _nodes(source, company_id, size)
    before: StoredCheckpoint | None = None
    for row in source.checkpoints(company_id):
        counts["checkpoints"] += 1
        one = StoredCheckpoint(**dict(zip(CHECKPOINT, row, strict=True)))
        yield from wrong_previous(one, before)
        yield from wrong_signature(one, keys)
        yield from wrong_root(one, size, node)
        before = one
    covered = 0 if before is None else before.size
    if covered < size:
        where = f"company {company_id!r}, leaves {covered} to {size - 1}"
        yield AuditFinding("checkpoint", where, "no checkpoint covers them: it was deleted")


def passed_over(source: AuditSource) -> Iterator[AuditFinding]:
    """Commits that should have a leaf."""
    for company_id, stream, version in source.passed_over():
        where = f"{called(stream)}, up to event {version}"
        yield AuditFinding("leaf", where, f"the commit has no leaf in the tree of {company_id!r}: it was inserted")
    for (company_id,) in source.sealed_amiss():
        where = f"company {company_id!r}"
        yield AuditFinding("leaf", where, "the mark up to which it is sealed is gone, or not where it can be")


def recorded(source: AuditSource, roots: list[tuple[str, int, str]], *, complete: bool) -> Iterator[AuditFinding]:
    """Compare the trees with the roots that the service has recorded of them."""
    newest: dict[str, int] = {}
    for company_id, size, root in roots:
        newest[company_id] = max(size, newest.get(company_id, 0))
        if source.root(company_id, size) != root:
            where = f"company {company_id!r}, checkpoint of size {size}"
            what = "the service has recorded it, and it is not there: the company was deleted, rolled back or rewritten"
            yield AuditFinding("roots", where, what)
    unrecorded = source.unrecorded()
    for company_id in source.companies() if complete else ():
        sizes = [row[6] for row in source.checkpoints(company_id)]
        last = sizes[-1] if sizes and company_id != SERVICE else 0
        if last > newest.get(company_id, 0) and (company_id, last) not in unrecorded:
            where = f"company {company_id!r}, checkpoint of size {last}"
            yield AuditFinding("roots", where, "the service has not recorded it, and is not about to")
    for company_id, size in sorted(unrecorded):
        if source.root(company_id, size) is None or size <= newest.get(company_id, 0):
            where = f"company {company_id!r}, checkpoint of size {size}"
            yield AuditFinding("roots", where, "there is nothing to record: it was inserted")


def _leaf(company_id: str, expected: int, row: Row) -> Iterator[AuditFinding]:
    number, stream, version, *commit, head, digest = row
    where = f"company {company_id!r}, leaf {number}, {called(stream)}, up to event {version}"
    if number != expected:
        yield AuditFinding("leaf", where, f"leaf {expected} was expected: one is missing")
    if commit != [company_id, stream, version] or head is None:
        gone = head is None
        what = "its commit was deleted" if gone else f"at its place is the commit {commit[1]} up to event {commit[2]}"
        yield AuditFinding("leaf", where, what)
    elif digest is None:
        yield AuditFinding("node", where, "its hash is missing")
    elif digest != leaf(stream, version, head):
        yield AuditFinding("leaf", where, "its commit is not the one that was sealed, or its hash was changed")


def _nodes(source: AuditSource, company_id: str, size: int) -> Iterator[AuditFinding]:
    """Verify that exactly the complete nodes exist, each the hash of its children."""
    for level, nodes in groupby(source.nodes(company_id), itemgetter(0)):
        expected = 0
        for _, number, digest, *children in nodes:
            where = f"company {company_id!r}, node {level}:{number}"
            if number != expected:
                yield AuditFinding("node", where, f"node {level}:{expected} was expected: one is missing")
            expected = number + 1
            if level and None in children:
                yield AuditFinding("node", where, "a node below it is missing")
            elif level and merkle.node_hash(*children) != digest:
                yield AuditFinding("node", where, "it is not the hash of the nodes below it")
        if expected != size >> level:
            where = f"company {company_id!r}, level {level}"
            yield AuditFinding("node", where, f"there are {expected} nodes, and {size >> level} belong there")


@dataclass(frozen=True, slots=True)
class GoneHistory:
    """Where a history ends of which hashes alone are left, and the row of its run."""

    key: Key
    version: int
    head: bytes
    found: Row | None
    complete: bool

    def findings(self, archived: Archived | None) -> Iterator[AuditFinding]:
        where = f"run {self.key[1]} of {self.key[0]!r}"
        if archived is None:
            yield AuditFinding("chain", where, "its events are missing, and no log says that it was archived")
            return
        if not self.complete:
            yield AuditFinding("chain", where, "some of its events are here, and it was archived")
        if (self.version, text_of_hash(self.head)) != (archived.form.version, archived.form.head):
            yield AuditFinding("chain", where, "its hashes do not end with the one that the log has of the archive")


def unmarked(key: Key, found: Row | None, *, archived: bool) -> Iterator[AuditFinding]:
    """The finding when a run's row says otherwise than its history."""
    if found is not None and found[-1] != archived:
        said = "is not" if archived else "is"
        yield AuditFinding("run", f"run {key[1]} of {key[0]!r}", f"it {said} marked as archived")


def still_there(archived: Collection[Key], gone: Sequence[GoneHistory]) -> Iterator[AuditFinding]:
    """The runs that the logs say are archived, and that have events."""
    for company_id, run_id in sorted(set(archived) - {one.key for one in gone}):
        where = f"run {run_id} of {company_id!r}"
        yield AuditFinding("archive", where, "the log says that it was archived, and its history is not what that left")


class JudgedVisits:
    """The visits that the histories know, to be compared with the rows that reports keep."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str, int], Row] = {}

    def add(self, visits: Sequence[JudgedVisit]) -> None:
        self._known |= {(one.company_id, one.run_id, one.seq): JUDGED.to_row(one) for one in visits}

    def findings(self, source: AuditSource, archived: set[tuple[str, str]], counts: Counts) -> Iterator[AuditFinding]:
        """Nothing is known of `archived` runs; and reports follow a little behind the histories."""
        for row in source.table(JUDGED.name, JUDGED.columns) if JUDGED.name in source.tables else ():
            counts["judged visits"] += 1
            company_id, run_id, seq = row["company_id"], row["run_id"], row["seq"]
            known = self._known.pop((company_id, run_id, seq), None)
            if known is None and (company_id, run_id) not in archived:
                yield AuditFinding("judged", _where(company_id, run_id, seq), "no history leads to it: it was inserted")
            elif known is not None and known != tuple(row.values()):
                yield AuditFinding("judged", _where(company_id, run_id, seq), "it is not what the history leads to")
        for company_id, run_id, seq in self._known if JUDGED.name in source.tables else ():
            if source.counted(company_id, run_id, seq):
                what = "reports do not count what the history leads to: it was deleted"
                yield AuditFinding("judged", _where(company_id, run_id, seq), what)


def _where(company_id: str, run_id: str, seq: int) -> str:
    return f"the case of event {seq} of run {run_id} of {company_id!r}"


def wrong_macs(source: AuditSource, keys: CommitKeys, counts: Counts) -> Iterator[AuditFinding]:
    """The commits and snapshots that the service did not write, sealed or not."""
    if not source.has_macs():
        return
    for company_id, stream, version, first_seq, head, mac, events in source.commit_macs():
        counts["MACs"] += 1
        try:
            keys.check((company_id, stream), version, first_seq, head, mac, events=events)
        except CommitForged as forged:
            yield AuditFinding("mac", f"{called(stream)} of {company_id!r}, event {first_seq}", forged.what)
    for company_id, run_id, version, schema, mac, body in source.snapshot_macs():
        if mac is None or not keys.made_snapshot((company_id, run_id), version, schema, body, mac):
            yield AuditFinding("snapshot", f"run {run_id}, snapshot of version {version}", "the MAC does not fit it")
    for company_id, position in source.stopped():
        yield AuditFinding("sealing", f"company {company_id!r}", f"it stopped before the commit at position {position}")


COLUMNS = (
    *("version", "resting", "status", "parked", "updated_at", "vertical", "created_at"),
    *("wake_at", "reviewed", "clock_due_at"),
)
"""The columns of a run's row that its history leads to."""
BUSINESS_KEY = len(COLUMNS)
SNAPSHOT = BUSINESS_KEY + 1


def verify_store(
    path: Path,
    keys: Mapping[str, bytes],
    against: Sequence[StoredCheckpoint] = (),
    counts: Counts | None = None,
    now: datetime | None = None,
    *,
    commit_keys: CommitKeys | None = None,
) -> Iterator[AuditFinding]:
    """The findings in a SQLite store; `now` decides which ended tokens still matter."""
    try:
        with reading(path) as reader:
            yield from verify_reader(reader, keys, against, counts, now, commit_keys=commit_keys)
    except sqlite3.Error as error:
        yield AuditFinding("database", str(path), f"it cannot be read: {error}")


def verify_database(
    url: str,
    keys: Mapping[str, bytes],
    against: Sequence[StoredCheckpoint] = (),
    counts: Counts | None = None,
    now: datetime | None = None,
    *,
    commit_keys: CommitKeys | None = None,
) -> Iterator[AuditFinding]:
    """The findings in a PostgreSQL database."""
    from daemon.stores.postgres.reader import reading as reading_postgres  # noqa: PLC0415 - most do without PostgreSQL

    try:
        with reading_postgres(url) as reader:
            yield from verify_reader(reader, keys, against, counts, now, commit_keys=commit_keys)
    except StoreFailed as failure:
        yield AuditFinding("database", "PostgreSQL", f"it cannot be read: {failure}")


def verify_reader(
    reader: Reader,
    keys: Mapping[str, bytes],
    against: Sequence[StoredCheckpoint] = (),
    counts: Counts | None = None,
    now: datetime | None = None,
    *,
    commit_keys: CommitKeys | None = None,
) -> Iterator[AuditFinding]:
    """The findings in a store; those of MACs only with the keys of commits."""
    counts = Counts() if counts is None else counts
    try:
        for name, what in reader.unlike_migrations():
            yield AuditFinding("schema", name, what)
    except SchemaMismatch as mismatch:
        yield AuditFinding("schema", "the database", str(mismatch))
        return
    source, fold = AuditSource(reader), Fold()
    yield from _Streams(source, fold, counts).findings()
    fold.settle()
    yield from compare_all(source, fold, iso(now or utc_now()), counts)
    if commit_keys is not None:
        yield from wrong_macs(source, commit_keys, counts)
    for company_id in source.companies():
        yield from tree(source, company_id, keys, counts)
    yield from passed_over(source)
    yield from recorded(source, fold.roots, complete=fold.complete)
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
        self._readers = RunReaders(source)

    def findings(self) -> Iterator[AuditFinding]:
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
            yield AuditFinding("run", f"run {run_id} of {company_id!r}", "it has no history: that was deleted or moved")
        yield from readers_alone(self._source)
        for company_id, run_id, step_id in self._source.gates_without_runs():
            yield AuditFinding("gate", f"{step_id} of run {run_id} of {company_id!r}", "there is no such run")
        for company_id, run_id in self._source.actions_without_runs():
            yield AuditFinding("action", f"action {run_id} of {company_id!r}", "there is no such run")
        for (run,) in self._source.snapshots_without_runs():
            yield AuditFinding("snapshot", f"snapshot of run {run}", "there is no such run")

    def _walked(self, key: tuple[str, str], commits: Iterable[Row]) -> Iterator[tuple[Row, AuditFinding | None]]:
        """The commits of a stream, each with its finding in the chain."""
        walk, finding = ChainWalk(key[1], genesis(*key)), None
        for row in commits:
            _, _, version, first, head, _, events = row
            self._tally["commits"] += 1
            try:
                self._tally["events"] += len(walk.read_commit(first, version, head, events))
                finding = None
            except HistoryBroken as broken:
                finding = AuditFinding("chain", f"{called(key[1])}, event {broken.seq}", broken.what)
                walk.seq, walk.head = version, head or b""
            if finding is None and not _canonical(events):
                finding = AuditFinding("form", f"{called(key[1])}, event {first}", "the events are not canonical JSON")
            yield row, finding

    def _log(self, key: tuple[str, str], commits: Iterable[Row]) -> Iterator[AuditFinding]:
        for (_, _, _, first, _, exact, events), finding in self._walked(key, commits):
            if finding is not None:
                yield finding
            where = f"{called(key[1])}, event {first}"
            if exact is not None:
                yield AuditFinding("form", where, "it has a second form, which no log has")
            try:
                for event in codec.decode_log(events):
                    self._fold.read_event(key[0], event)
                    if isinstance(event, RunRedacted):
                        self._redactions.record(key[0], msgspec.to_builtins(event))
            except ValueError as error:
                yield AuditFinding("event", where, f"it cannot be read: {_first_line(error)}")

    def _run(self, key: tuple[str, str], commits: Iterable[Row]) -> Iterator[AuditFinding]:
        found, run, readable, version = self._source.run(*key), None, True, 0
        reported = Projection({})
        kept = None if found is None else found[SNAPSHOT]
        ends = redacted = False
        for (_, _, reached, first, _, exact, events), finding in self._walked(key, commits):
            version = reached
            ends = ends or version == kept
            if finding is not None:
                yield finding
            self._redactions.read_commit(key, first, events)
            redacted = redacted or holds_redacted(events)
            try:
                if readable:
                    decoded = codec.decode_events(events, exact)
                    run = codec.fold(decoded, run)
                    reported.add(FollowedCommit(*key, run.vertical, first, decoded))
            except (ValueError, RecursionError) as error:
                readable, run = False, None
                what = f"no run can go on like this: {_first_line(error)}"
                yield AuditFinding("event", f"{called(key[1])}, event {first}", what)
            if run is not None and found is not None and kept == run.version:
                yield from _snapshot(run, found)
        self._judged.add(reported.judged)
        if kept is not None and not ends:
            yield AuditFinding(
                "snapshot", f"run {key[1]} of {key[0]!r}", f"it is of version {kept}, where no commit ends"
            )
        yield from _row(key, run, version, found)
        yield from unmarked(key, found, archived=False)
        if run is not None:
            yield from _listed(key, run, self._source.gates(*key))
            yield from _action(key, run, self._source.action(*key))
            yield from self._readers.findings(key, run, redacted=redacted)

    def _run_or_hashes(self, key: tuple[str, str], commits: Iterator[Row]) -> Iterator[AuditFinding]:
        first = next(commits)
        look = self._run if first[-1] else self._without_events
        yield from look(key, chain((first,), commits))

    def _without_events(self, key: tuple[str, str], commits: Iterable[Row]) -> Iterator[AuditFinding]:
        """A run of which hashes are left; the logs are compared when all are read."""
        walk, complete = ChainWalk(key[1], genesis(*key)), True
        self._tally["archived runs"] += 1
        for _, _, version, first, head, exact, events in commits:
            self._tally["commits"] += 1
            try:
                walk.pass_over(first, version, head or b"")
            except HistoryBroken as broken:
                yield AuditFinding("chain", f"{called(key[1])}, event {broken.seq}", broken.what)
                walk.seq, walk.head = version, head or b""
            complete = complete and not events and exact is None
        self._gone.append(GoneHistory(key, walk.seq, walk.head, self._source.run(*key), complete))

    def _archived(self) -> Iterator[AuditFinding]:
        """Compare runs without events with what the logs say of their archives."""
        known = self._fold.archived
        for one in self._gone:
            archived = known.get(one.key)
            yield from one.findings(archived)
            yield from _row(one.key, None if archived is None else archived.run, one.version, one.found)
            yield from unmarked(one.key, one.found, archived=archived is not None)
            yield from () if archived is None else self._readers.of_archived(one.key, archived.run)
            if one.found is not None and one.found[SNAPSHOT] is not None:
                yield AuditFinding("snapshot", f"run {one.key[1]} of {one.key[0]!r}", "it is of a run without events")
        yield from still_there(known, self._gone)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def _canonical(events: bytes) -> bool:
    try:
        return all(canonical(json.loads(line)).encode() == line for line in events.split(b"\n"))
    except (ValueError, RecursionError):
        return False


def _snapshot(run: Run, found: Row) -> Iterator[AuditFinding]:
    """Compare a snapshot with the run folded from its history."""
    version, schema, body = found[SNAPSHOT : SNAPSHOT + 3]
    where = f"run {run.id}, snapshot of version {version}"
    if schema == codec.SNAPSHOT_SCHEMA:
        try:
            kept_run = codec.decode_run(body)
        except ValueError:
            yield AuditFinding("snapshot", where, "it cannot be read")
            return
        if _written(kept_run) != _written(run):
            yield AuditFinding("snapshot", where, "it is not what the history leads to")


def _written(run: Run) -> bytes:
    return msgspec.json.encode(run, order="sorted")


def _row(key: tuple[str, str], run: Run | None, version: int, found: Row | None) -> Iterator[AuditFinding]:
    """Compare the row of a run with the run folded from its history."""
    where = f"run {key[1]} of {key[0]!r}"
    if found is None:
        yield AuditFinding("run", where, "there are commits and no run")
        return
    if found[0] != version:
        yield AuditFinding("run", where, f"it stands at version {found[0]}, and its history ends at event {version}")
    if run is not None:
        if (run.company_id, run.id) != key:
            yield AuditFinding("run", where, f"its history is that of {run.id} of {run.company_id!r}")
        for name, kept_value, folded in zip(COLUMNS, found, (*run_row(run), *run_timer(run)), strict=False):
            # The gates beside a failed branch were not written down before they could be decided.
            unsaid = name == "parked" and run.status == "failed" and kept_value == ""
            if kept_value != folded and name != "version" and not unsaid:
                yield AuditFinding("run", where, f"{name} is {kept_value!r}, and its history leads to {folded!r}")
        if found[BUSINESS_KEY] != run.business_key:
            what = f"business_key is {found[BUSINESS_KEY]!r}, and its history leads to {run.business_key!r}"
            yield AuditFinding("run", where, what)


def _listed(key: tuple[str, str], run: Run, rows: Sequence[Row]) -> Iterator[AuditFinding]:
    """Compare what the inbox lists of a run; one without a row is listed when a daemon starts."""
    expected = {one.step_id: (run.vertical, *one[1:]) for one in gate_rows(run)}
    where = f"of run {key[1]} of {key[0]!r}"
    for step_id, *listed in rows:
        if expected.pop(step_id, None) != tuple(listed):
            yield AuditFinding("gate", f"{step_id} {where}", "the inbox does not list what its history leads to")
    if rows:
        for step_id in expected:
            yield AuditFinding("gate", f"{step_id} {where}", "it is open, and the inbox does not list it")


def _action(key: tuple[str, str], run: Run, found: Row | None) -> Iterator[AuditFinding]:
    """Compare the row of an action with the run folded from its history."""
    expected, where = action_row(run), f"action {key[1]} of {key[0]!r}"
    if expected is None:
        if found is not None:
            yield AuditFinding("action", where, "its history is of no action: it was inserted")
    elif found is None:
        yield AuditFinding("action", where, "its history is of an action, and lists have none: it was deleted")
    else:
        for name, kept, folded in zip(ACTIONS.columns, found, ACTIONS.to_row(expected), strict=True):
            if kept != folded:
                yield AuditFinding("action", where, f"{name} is {kept!r}, and its history leads to {folded!r}")


def checkpoints(reader: Reader, company_id: str) -> list[StoredCheckpoint]:
    """All checkpoints, oldest first."""
    rows = AuditSource(reader).checkpoints(company_id)
    return [StoredCheckpoint(**dict(zip(CHECKPOINT, row, strict=True))) for row in rows]


def exported(reader: Reader, company_id: str) -> Iterator[bytes]:
    """The lines of an export of all that the last checkpoint covers."""
    found = checkpoints(reader, company_id)
    size = found[-1].size if found else 0
    yield evidence.manifest(company_id, size)
    for entry in AuditSource(reader).entries(company_id, size):
        yield evidence.entry_line(entry)
    for one in reversed(found):
        yield evidence.checkpoint_line(one)
