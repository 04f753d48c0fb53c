"""Verification of a store: histories, trees, and derived rows."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import msgspec

from actors.core.calls import Connector
from actors.core.canonical import canonical
from actors.core.run import Run
from daemon.model import merkle
from daemon.model.audit_events import ConnectorChanged
from daemon.model.chain import ChainWalk, HistoryBroken, genesis
from daemon.model.evidence import CHECKPOINT, Checkpoint, leaf
from daemon.stores import codec
from daemon.stores.rows import change_of_row, run_row
from daemon.verification.findings import (
    Counts,
    Finding,
    called,
    wrong_against,
    wrong_previous,
    wrong_root,
    wrong_signature,
)
from daemon.verification.source import AuditSource, Row, reading


def verify_store(
    path: Path, keys: Mapping[str, bytes], against: Sequence[Checkpoint] = (), counts: Counts | None = None
) -> Iterator[Finding]:
    counts = Counts() if counts is None else counts
    try:
        with reading(path) as source:
            yield from _Streams(source, counts).findings()
            for company_id in source.companies():
                yield from _tree(source, company_id, keys, counts)
            for company_id, stream, version in source.passed_over():
                where = f"{called(stream)}, up to event {version}"
                yield Finding("leaf", where, f"the commit has no leaf in the tree of {company_id!r}: it was inserted")
            for one in against:
                size = sum(1 for _ in source.leaves(one.company))
                yield from wrong_against(one, keys, size, partial(source.node, one.company))
    except sqlite3.Error as error:
        yield Finding("database", str(path), f"it cannot be read: {error}")


class _Streams:
    """All streams, and the rows derived from them."""

    def __init__(self, source: AuditSource, counts: Counts) -> None:
        self._source = source
        self._tally = counts
        self._logged: dict[str, list[ConnectorChanged]] = {}

    def findings(self) -> Iterator[Finding]:
        for (company_id, stream), commits in groupby(self._source.commits(), itemgetter(0, 1)):
            self._tally["streams"] += 1
            if company_id == stream:
                yield from self._log(company_id, commits)
            else:
                yield from self._run((company_id, stream), commits)
        for company_id, run_id in self._source.runs_without_commits():
            yield Finding("run", f"run {run_id} of {company_id!r}", "it has no history: that was deleted or moved")
        yield from self._connectors()

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

    def _log(self, company_id: str, commits: Iterable[Row]) -> Iterator[Finding]:
        logged = self._logged.setdefault(company_id, [])
        for (_, _, _, first, _, exact, events), finding in self._walked((company_id, company_id), commits):
            if finding is not None:
                yield finding
            where = f"{called(company_id)}, event {first}"
            if exact is not None:
                yield Finding("form", where, "it has a second form, which no log has")
            try:
                logged += [event for event in codec.decode_log(events) if isinstance(event, ConnectorChanged)]
            except ValueError as error:
                yield Finding("event", where, f"it cannot be read: {_first_line(error)}")

    def _run(self, key: tuple[str, str], commits: Iterable[Row]) -> Iterator[Finding]:
        found, run, readable, version = self._source.run(*key), None, True, 0
        kept = None if found is None else found[7]
        ends = False
        for (_, _, reached, first, _, exact, events), finding in self._walked(key, commits):
            version = reached
            ends = ends or version == kept
            if finding is not None:
                yield finding
            try:
                run = codec.fold(codec.decode_events(events, exact), run) if readable else None
            except (ValueError, RecursionError) as error:
                readable, run = False, None
                what = f"no run can go on like this: {_first_line(error)}"
                yield Finding("event", f"{called(key[1])}, event {first}", what)
            if run is not None and found is not None and kept == run.version:
                yield from _snapshot(run, found)
        if kept is not None and not ends:
            yield Finding("snapshot", f"run {key[1]} of {key[0]!r}", f"it is of version {kept}, where no commit ends")
        yield from _row(key, run, version, found)

    def _connectors(self) -> Iterator[Finding]:
        """Compare connectors and their changes with the log."""
        last: dict[tuple[str, str], Connector | None] = {}
        changed: dict[tuple[str, str, int], ConnectorChanged] = {}
        for company_id, events in self._logged.items():
            for event in events:
                changed[company_id, event.tool_id, event.number] = event
                last[company_id, event.tool_id] = event.after
        yield from self._changes(changed)
        for company_id, tool_id, connector in self._source.connectors():
            made = last.pop((company_id, tool_id), None)
            if made is None or codec.encode_connector(made) != connector:
                yield Finding("connector", f"{tool_id} of {company_id!r}", "it is not what its last change made of it")
        for (company_id, tool_id), made in last.items():
            if made is not None:
                yield Finding("connector", f"{tool_id} of {company_id!r}", "it is missing, and no change deleted it")

    def _changes(self, changed: dict[tuple[str, str, int], ConnectorChanged]) -> Iterator[Finding]:
        for row in self._source.changes():
            self._tally["connector changes"] += 1
            known = changed.pop((row[0], row[1], row[2]), None)
            where = f"connector {row[1]} of {row[0]!r}, change {row[2]}"
            if known is None:
                yield Finding("connector_change", where, "the company's log does not know it: it was inserted")
            elif _unlike(known, row):
                yield Finding("connector_change", where, "it is not what the company's log says")
        for company_id, tool_id, number in changed:
            where = f"connector {tool_id} of {company_id!r}, change {number}"
            yield Finding("connector_change", where, "it is in the company's log alone: it was deleted")


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def _unlike(event: ConnectorChanged, row: Row) -> bool:
    try:
        return codec.encode_log(codec.connector_changed(change_of_row(row))) != codec.encode_log(event)
    except ValueError:
        return True


def _canonical(events: bytes) -> bool:
    try:
        return all(canonical(json.loads(line)).encode() == line for line in events.split(b"\n"))
    except (ValueError, RecursionError):
        return False


def _snapshot(run: Run, found: Row) -> Iterator[Finding]:
    """Compare a snapshot with the run folded from its history."""
    version, schema, checksum, body = found[7:]
    where = f"run {run.id}, snapshot of version {version}"
    if codec.checksum(version, body, schema) != checksum:
        yield Finding("snapshot", where, "it does not fit its checksum")
    elif schema == codec.SNAPSHOT_SCHEMA:
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
        names = ("version", "resting", "status", "parked", "updated_at", "vertical", "created_at")
        for name, kept_value, folded in zip(names, found, run_row(run), strict=False):
            # The gates beside a failed branch were not written down before they could be decided.
            unsaid = name == "parked" and run.status == "failed" and kept_value == ""
            if kept_value != folded and name != "version" and not unsaid:
                yield Finding("run", where, f"{name} is {kept_value!r}, and its history leads to {folded!r}")


def _tree(source: AuditSource, company_id: str, keys: Mapping[str, bytes], counts: Counts) -> Iterator[Finding]:
    """Verify the leaves, nodes and checkpoints of a company."""
    size = 0
    node = partial(source.node, company_id)
    for row in source.leaves(company_id):
        yield from _leaf(company_id, size, row, node)
        size = row[0] + 1
    yield from _nodes(source, company_id, size)
    before: Checkpoint | None = None
    for row in source.checkpoints(company_id):
        counts["checkpoints"] += 1
        one = Checkpoint(**dict(zip(CHECKPOINT, row, strict=True)))
        yield from wrong_previous(one, before)
        yield from wrong_signature(one, keys)
        yield from wrong_root(one, size, node)
        before = one
    covered = 0 if before is None else before.size
    if covered < size:
        where = f"company {company_id!r}, leaves {covered} to {size - 1}"
        yield Finding("checkpoint", where, "no checkpoint covers them: it was deleted")


def _leaf(company_id: str, expected: int, row: Row, node: merkle.Node) -> Iterator[Finding]:
    number, stream, version, *commit, head = row
    where = f"company {company_id!r}, leaf {number}, {called(stream)}, up to event {version}"
    if number != expected:
        yield Finding("leaf", where, f"leaf {expected} was expected: one is missing")
    if commit != [company_id, stream, version] or head is None:
        gone = head is None
        what = "its commit was deleted" if gone else f"at its place is the commit {commit[1]} up to event {commit[2]}"
        yield Finding("leaf", where, what)
        return
    try:
        if node(0, number) != leaf(stream, version, head):
            yield Finding("leaf", where, "its commit is not the one that was sealed, or its hash was changed")
    except KeyError:
        yield Finding("node", where, "its hash is missing")


def _nodes(source: AuditSource, company_id: str, size: int) -> Iterator[Finding]:
    """Verify that exactly the complete nodes exist, each the hash of its children."""
    for level, nodes in groupby(source.nodes(company_id), itemgetter(0)):
        expected = 0
        for _, number, digest in nodes:
            where = f"company {company_id!r}, node {level}:{number}"
            if number != expected:
                yield Finding("node", where, f"node {level}:{expected} was expected: one is missing")
            expected = number + 1
            if level:
                yield from _inner(source, (company_id, level, number), digest, where)
        if expected != size >> level:
            where = f"company {company_id!r}, level {level}"
            yield Finding("node", where, f"there are {expected} nodes, and {size >> level} belong there")


def _inner(source: AuditSource, at: tuple[str, int, int], digest: bytes, where: str) -> Iterator[Finding]:
    company_id, level, number = at
    try:
        children = [source.node(company_id, level - 1, 2 * number + side) for side in (0, 1)]
    except KeyError:
        yield Finding("node", where, "a node below it is missing")
        return
    if merkle.node_hash(*children) != digest:
        yield Finding("node", where, "it is not the hash of the nodes below it")
