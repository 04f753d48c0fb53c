"""The trees of companies, their checkpoints, the commits below, and the roots that are recorded."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from daemon.model import merkle
from daemon.model.audit_events import ROOTS, SERVICE, Logged, RootForm, RootsRecorded
from daemon.model.chain import CommitForged, HistoryBroken, genesis
from daemon.model.evidence import (
    CHECKPOINT,
    SEAL_MAX,
    Proof,
    ProvenRecord,
    SealedCommit,
    Sign,
    StoredCheckpoint,
    TreeBuilder,
    leaf,
)
from daemon.stores.rows import INTEGER_MAX, below, bounded
from daemon.stores.tables.archives import refuse_archived
from daemon.stores.tables.company_log import log
from daemon.stores.tables.runs import HEAD

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from daemon.stores.database import Database, Row


_CHECKPOINT = "at, company_id, key_id, previous, root, signature, size"
_CHECKPOINTS = (
    f"SELECT {_CHECKPOINT} FROM audit_checkpoints WHERE company_id = $1 AND size < $2 ORDER BY size DESC LIMIT $3"
)
_COMMIT = "SELECT run_id, version, first_seq, head, mac, events FROM commits WHERE company_id = $1 AND run_id ="
_COMMITS = f"{_COMMIT} $2 AND version > $3 ORDER BY version LIMIT $4"
_LOGGED = f"{_COMMIT} $1 AND first_seq < $2 ORDER BY version DESC LIMIT $3"
LAST_LEAF = (
    "SELECT (SELECT number FROM audit_leaves WHERE audit_leaves.company_id = commits.company_id "
    "AND audit_leaves.position = commits.position), run_id, version, first_seq, head, mac, events FROM commits "
    "WHERE company_id = $1 AND run_id = $2 ORDER BY version DESC LIMIT 1"
)
# LATERAL finds each row by its key; otherwise the planner may read all of the company.
_ENTRIES = {
    "sqlite": "SELECT number, run_id, commits.version, first_seq, head, mac, events FROM audit_leaves "
    "JOIN commits USING (position) WHERE audit_leaves.company_id = $1 AND number >= $2 AND number < $3 ORDER BY number",
    "postgres": "SELECT number, one.* FROM audit_leaves CROSS JOIN LATERAL ("
    "SELECT commits.run_id, commits.version, first_seq, head, mac, events FROM commits WHERE commits.company_id = "
    "audit_leaves.company_id AND commits.position = audit_leaves.position LIMIT 1) AS one "
    "WHERE audit_leaves.company_id = $1 AND number >= $2 AND number < $3 ORDER BY number",
}
_RECORD = (
    "SELECT commits.position, commits.version, before.head, commits.mac, commits.head, commits.events FROM commits "
    "LEFT JOIN commits AS before ON before.company_id = $1 AND before.run_id = $1 "
    "AND before.version = commits.version - 1 "
    "WHERE commits.company_id = $1 AND commits.run_id = $1 AND {} ORDER BY commits.version"
)
_RECORDS = {
    "sqlite": _RECORD.format("instr(commits.events, $2) AND instr(commits.events, $3)"),
    "postgres": _RECORD.format("position($2 in commits.events) > 0 AND position($3 in commits.events) > 0"),
}
_NUMBER = "SELECT number FROM audit_leaves WHERE company_id = $1 AND position = $2"
NODES = {
    "sqlite": "SELECT level, number, hash FROM json_each($2) AS asked CROSS JOIN audit_nodes WHERE company_id = $1 "
    "AND level = json_extract(asked.value, '$[0]') AND number = json_extract(asked.value, '$[1]')",
    "postgres": "SELECT one.* FROM json_array_elements($2::json) AS asked CROSS JOIN LATERAL ("
    "SELECT level, number, hash FROM audit_nodes WHERE company_id = $1 "
    "AND level = (asked->>0)::bigint AND number = (asked->>1)::bigint LIMIT 1) AS one",
}
# SQLite seals the commits of all companies by position, PostgreSQL company by company.
_UNSEALED = (
    "SELECT position, company_id, run_id, version, first_seq, head, mac FROM commits "
    "WHERE position > (SELECT position FROM audit_sealed) AND ($1 IS NULL OR company_id = $1) "
    "AND company_id NOT IN (SELECT company_id FROM audit_stopped) "
    "AND NOT EXISTS (SELECT 1 FROM audit_leaves WHERE audit_leaves.position = commits.position) "
    "ORDER BY position LIMIT $2"
)
_UNSEALED_OF_COMPANY = (
    "SELECT position, company_id, run_id, version, first_seq, head, mac FROM commits "
    "WHERE company_id = $1 AND position > $2 AND position <= $3 ORDER BY position LIMIT $4"
)
_BEHIND = {
    "sqlite": "SELECT coalesce(max(position), 0) - (SELECT position FROM audit_sealed) FROM commits",
    "postgres": "SELECT coalesce(sum(clocks.position - coalesce(seals.position, 0)), 0)::bigint "
    "FROM clocks LEFT JOIN seals ON seals.company_id = clocks.company_id",
}
_COMPANIES_BEHIND = (
    "SELECT clocks.company_id FROM clocks LEFT JOIN seals ON seals.company_id = clocks.company_id "
    "WHERE clocks.position > coalesce(seals.position, 0) AND clocks.company_id > $1 ORDER BY clocks.company_id LIMIT $2"
)
_LOCK_SEAL = "SELECT position FROM seals WHERE company_id = $1 FOR UPDATE SKIP LOCKED"
_STOPPED = (
    "SELECT audit_stopped.company_id, audit_stopped.position, run_id, version, first_seq, head, mac "
    "FROM audit_stopped LEFT JOIN commits ON commits.company_id = audit_stopped.company_id "
    "AND commits.position = audit_stopped.position"
)
_STOP = "INSERT INTO audit_stopped VALUES ($1, $2) ON CONFLICT DO NOTHING"
_GO_BACK = "UPDATE audit_sealed SET position = $1 - 1 WHERE position >= $1"
Places = set[tuple[int, int]]


class Sealing(NamedTuple):
    """How many commits were looked at, and those at which the sealing of a company stopped."""

    commits: int
    forged: Sequence[CommitForged]


async def unsealed(db: Database) -> int:
    """How many positions there are behind the last leaves."""
    return int(await db.value(_BEHIND[db.dialect]))


async def companies_behind(db: Database, after: str, limit: int) -> Sequence[str]:
    return [row[0] for row in await db.rows(_COMPANIES_BEHIND, after, limit)]


async def seal(db: Database, sign: Sign, only: str | None) -> Sealing:
    """Seal the next commits, of all companies or of one, in SQLite.

    A company whose next commit is forged stops there; the others, and what they count, go on.
    """
    forged = await _still_stopped(db) if only is None else []
    rows = await db.rows(_UNSEALED, only, SEAL_MAX)
    for stopped in await _seal(db, rows, sign):
        await db.execute(_STOP, stopped.company_id, stopped.position)
        forged.append(stopped.forged)
    if only is None:
        last = rows[-1][0] if len(rows) == SEAL_MAX else await db.value("SELECT max(position) FROM commits")
        await db.execute("UPDATE audit_sealed SET position = $1 WHERE position < $1", last or 0)
    return Sealing(len(rows), forged)


async def _still_stopped(db: Database) -> list[CommitForged]:
    """Look again where sealing stopped: it goes on where the forged commit is gone."""
    forged = []
    for company_id, position, *commit in await db.rows(_STOPPED):
        try:
            if commit[0] is not None:
                db.keys.check((company_id, commit[0]), *commit[1:])
        except CommitForged as found:
            forged.append(found)
        else:
            await db.execute("DELETE FROM audit_stopped WHERE company_id = $1", company_id)
            await db.execute(_GO_BACK, position)
    return forged


async def seal_company(db: Database, company_id: str, sign: Sign, limit: int) -> Sealing:
    """Seal the next commits of a company, in PostgreSQL; none while another daemon seals it."""
    await db.execute("INSERT INTO seals VALUES ($1, 0) ON CONFLICT DO NOTHING", company_id)
    sealed = await db.value(_LOCK_SEAL, company_id)
    reached = await db.value("SELECT position FROM clocks WHERE company_id = $1", company_id)
    if sealed is None or reached is None:
        return Sealing(0, ())
    rows = await db.rows(_UNSEALED_OF_COMPANY, company_id, sealed, reached, limit)
    stopped = await _seal(db, rows, sign)
    last = rows[-1][0] if len(rows) == limit else reached
    if stopped:
        last = stopped[0].position - 1
    await db.execute("UPDATE seals SET position = $2 WHERE company_id = $1", company_id, last)
    return Sealing(sum(row[0] <= last for row in rows), [one.forged for one in stopped])


class _Stop(NamedTuple):
    company_id: str
    position: int
    forged: CommitForged


async def _seal(db: Database, rows: Sequence[Row], sign: Sign) -> Sequence[_Stop]:
    """Append commits to their trees and add a checkpoint to each; returns where a forged one is."""
    trees: dict[str, TreeBuilder] = {}
    leaves: list[Row] = []
    stopped: dict[str, _Stop] = {}
    for position, company_id, stream, version, first, head, mac in rows:
        if company_id in stopped:
            continue
        try:
            db.keys.check((company_id, stream), version, first, head, mac)
        except CommitForged as forged:
            stopped[company_id] = _Stop(company_id, position, forged)
            continue
        tree = trees.get(company_id) or trees.setdefault(company_id, await _tree(db, company_id))
        leaves.append((company_id, tree.append(leaf(stream, version, head)), stream, version, position))
    nodes = [(tree.company_id, *place, digest) for tree in trees.values() for place, digest in tree.made.items()]
    checkpoints = [_checkpoint_row(tree.checkpoint(sign)) for tree in trees.values()]
    unrecorded = [(tree.company_id, tree.size) for tree in trees.values() if tree.company_id != SERVICE]
    await db.insert("audit_leaves (company_id, number, stream, version, position)", leaves)
    await db.insert("audit_nodes (company_id, level, number, hash)", nodes)
    await db.insert(f"audit_checkpoints ({_CHECKPOINT})", checkpoints)
    await db.insert("audit_unrecorded (company_id, size)", unrecorded)
    return list(stopped.values())


async def checkpoints(db: Database, company_id: str, before: int | None, limit: int) -> Sequence[StoredCheckpoint]:
    """At most `limit` checkpoints of a company of a size below `before`, newest first."""
    return [_checkpoint(row) for row in await db.rows(_CHECKPOINTS, company_id, below(before), bounded(limit))]


async def proven(db: Database, company_id: str, run_id: str, after: int = 0, limit: int | None = None) -> Proof | None:
    """A run's commits with the proof of the last one; HistoryArchived without its events."""
    found, top = await db.row(LAST_LEAF, company_id, run_id), await checkpoints(db, company_id, None, 1)
    if found is None or found[0] is None or not top or top[0].size <= found[0]:
        return None
    await refuse_archived(db, (company_id, run_id), found[-1])
    asked = (_COMMITS, company_id, run_id, after)
    rows = await db.rows(*asked, INTEGER_MAX) if limit is None else await db.page(*asked, bounded(limit))
    commits = [_commit(db, company_id, (-1, *row)) for row in rows]
    before = genesis(company_id, run_id)
    if commits and commits[0].first_seq > 1:
        before = await db.value(HEAD, company_id, run_id, commits[0].first_seq - 1) or b""
    number, size = found[0], top[0].size
    proof, last = await _inclusion(db, company_id, number, size), _commit(db, company_id, found)
    return Proof(commits, before, last, proof, top[0], await _redactions(db, company_id, run_id, size))


async def _inclusion(db: Database, company_id: str, number: int, size: int) -> Sequence[bytes]:
    node = await _nodes(db, company_id, _needed(partial(merkle.inclusion, number, size)))
    return merkle.inclusion(number, size, node)


async def _redactions(db: Database, company_id: str, run_id: str, size: int) -> Sequence[ProvenRecord]:
    """The records of a run's redactions, proven by a tree of that size."""
    if await db.row("SELECT 1 FROM run_redactions WHERE company_id = $1 AND run_id = $2", company_id, run_id) is None:
        return ()
    mark = b'"run_id":%b' % json.dumps(run_id).encode()
    rows = await db.rows(_RECORDS[db.dialect], company_id, b'"type":"run_redacted"', mark)
    found = []
    for position, version, previous, mac, head, event in rows:
        db.keys.check((company_id, company_id), version, version, head, mac)
        number = await db.value(_NUMBER, company_id, position)
        if json.loads(event)["run_id"] == run_id and number is not None and number < size:
            proof = await _inclusion(db, company_id, number, size)
            before = genesis(company_id, company_id) if version == 1 else previous
            found.append(ProvenRecord(number, version, before, event, proof))
    return found


async def entries(db: Database, company_id: str, first: int, end: int) -> Sequence[SealedCommit]:
    """The commits under the leaves from a number up to another, which is not among them."""
    rows = await db.page(_ENTRIES[db.dialect], company_id, bounded(first), bounded(end))
    return [_commit(db, company_id, row) for row in rows]


async def logged(db: Database, company_id: str, before: int | None, limit: int) -> Sequence[SealedCommit]:
    """At most `limit` commits of a company's log before an event, newest first."""
    rows = await db.page(_LOGGED, company_id, below(before), bounded(limit), least=2)
    return [_commit(db, company_id, (-1, *row)) for row in rows]


def _commit(db: Database, company_id: str, row: Row) -> SealedCommit:
    """A commit as it is shown; CommitForged unless the service wrote it."""
    number, stream, version, first, head, mac, events = row
    db.keys.check((company_id, stream), version, first, head, mac, events=events)
    return SealedCommit(number, stream, version, first, head, events)


async def _tree(db: Database, company_id: str) -> TreeBuilder:
    last = await db.value("SELECT max(number) FROM audit_leaves WHERE company_id = $1", company_id)
    before = await checkpoints(db, company_id, None, 1)
    size = 0 if last is None else last + 1
    # What a tree of that size ends with on each level: nothing else is needed to go on.
    edge = {(level, (size >> level) - 1) for level in range(size.bit_length())}
    return TreeBuilder(company_id, size, before[0].root if before else None, await _nodes(db, company_id, edge))


async def _nodes(db: Database, company_id: str, places: Places) -> merkle.Node:
    rows = await db.rows(NODES[db.dialect], company_id, json.dumps(sorted(places))) if places else []
    held: Mapping[tuple[int, int], bytes] = {(level, number): digest for level, number, digest in rows}

    def node(level: int, number: int) -> bytes:
        if (level, number) not in held:
            raise HistoryBroken(company_id, number, f"the node {level}:{number} of the company's tree is missing")
        return held[level, number]

    return node


def _needed(asking: Callable[[merkle.Node], Any]) -> Places:
    """The nodes that a computation reads."""
    asked: Places = set()

    def node(level: int, number: int) -> bytes:
        asked.add((level, number))
        return b""

    asking(node)
    return asked


def _checkpoint_row(one: StoredCheckpoint) -> Row:
    return (one.at, one.company, one.key_id, one.previous, one.root, one.signature, one.size)


def _checkpoint(row: Row) -> StoredCheckpoint:
    return StoredCheckpoint(**dict(zip(CHECKPOINT, row, strict=True)))


RECORDED_MAX = 256
VIA = "service"
_UNRECORDED = (
    "SELECT audit_unrecorded.company_id, audit_unrecorded.size, root FROM audit_unrecorded "
    "JOIN audit_checkpoints ON audit_checkpoints.company_id = audit_unrecorded.company_id "
    "AND audit_checkpoints.size = audit_unrecorded.size "
    "ORDER BY audit_unrecorded.company_id, audit_unrecorded.size LIMIT $1"
)


async def unrecorded(db: Database) -> bool:
    """Whether there are checkpoints that the service's tree does not cover."""
    return bool(await db.rows(_UNRECORDED, 1))


async def record_roots(db: Database, at: datetime) -> int:
    """Record a bounded number of checkpoints, the newest of each company; returns how many."""
    await db.next_position(SERVICE, 0)  # locks: no other daemon records the same
    rows = await db.rows(_UNRECORDED, RECORDED_MAX)
    if not rows:
        return 0
    newest = {company_id: RootForm(root=root, size=size) for company_id, size, root in rows}
    await log(db, Logged(SERVICE, RootsRecorded(at=at, roots=newest, via=VIA), ROOTS))
    for company_id, one in newest.items():
        await db.execute("DELETE FROM audit_unrecorded WHERE company_id = $1 AND size <= $2", company_id, one.size)
    return len(rows)
