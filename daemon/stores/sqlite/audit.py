"""The companies' trees and checkpoints as rows; all of it runs in a connection's thread."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from daemon.model import merkle
from daemon.model.chain import HistoryBroken, genesis
from daemon.model.evidence import SEAL_MAX, Checkpoint, Entry, Growing, Proven, Sign, leaf
from daemon.stores.rows import below, checkpoint_of_row, checkpoint_row
from daemon.stores.sqlite.rows import Rows

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

_LEAVES = Rows("INSERT INTO audit_leaves (company_id, number, stream, version, position)", columns=5)
_NODES = Rows("INSERT INTO audit_nodes (company_id, level, number, hash)", columns=4)
_CHECKPOINTS = Rows(
    "INSERT INTO audit_checkpoints (company_id, size, at, key_id, previous, root, signature)", columns=7
)
_CHECKPOINT = "SELECT at, company_id, key_id, previous, root, signature, size FROM audit_checkpoints WHERE company_id"
_UNSEALED = (
    "SELECT position, company_id, run_id, version, head FROM commits "
    "WHERE position > (SELECT position FROM audit_sealed) AND (?1 IS NULL OR company_id = ?1) "
    "AND NOT EXISTS (SELECT 1 FROM audit_leaves WHERE audit_leaves.position = commits.position) "
    "ORDER BY position LIMIT ?2"
)
_LAST = "SELECT coalesce(max(position), 0) FROM commits"
_BEHIND = "SELECT coalesce(max(position), 0) - (SELECT position FROM audit_sealed) FROM commits"
_REACHED = "UPDATE audit_sealed SET position = ?1 WHERE position < ?1"
_COMMITS = "SELECT run_id, version, first_seq, head, events FROM commits WHERE company_id = ? AND run_id = ?"
_HEAD = "SELECT head FROM commits WHERE company_id = ? AND run_id = ?"
_LAST_LEAF = (
    "SELECT number, run_id, commits.version, first_seq, head, events FROM commits "
    "LEFT JOIN audit_leaves USING (position) WHERE commits.company_id = ? AND run_id = ? "
    "ORDER BY commits.version DESC LIMIT 1"
)
_ENTRIES = (
    "SELECT number, commits.run_id, commits.version, first_seq, head, events FROM audit_leaves "
    "JOIN commits USING (position) WHERE audit_leaves.company_id = ? AND number >= ? AND number < ? ORDER BY number"
)


def unsealed(db: sqlite3.Connection) -> int:
    """How many positions there are behind the one up to which all have their leaves."""
    (behind,) = db.execute(_BEHIND).fetchone()
    return int(behind)


def seal(db: sqlite3.Connection, sign: Sign, only: str | None = None) -> int:
    """Give the next commits, of all or of one company, their leaves, and each company concerned a checkpoint."""
    trees: dict[str, Growing] = {}
    leaves: list[tuple[Any, ...]] = []
    for position, company_id, stream, version, head in db.execute(_UNSEALED, (only, SEAL_MAX)).fetchall():
        if head is None:
            raise HistoryBroken(stream, version, "the commit has no head")
        tree = trees.get(company_id) or trees.setdefault(company_id, _growing(db, company_id))
        leaves.append((company_id, tree.append(leaf(stream, version, head)), stream, version, position))
    _LEAVES.write(db, leaves)
    made = [(tree.company_id, *place, digest) for tree in trees.values() for place, digest in tree.made.items()]
    _NODES.write(db, made)
    _CHECKPOINTS.write(db, [checkpoint_row(tree.checkpoint(sign)) for tree in trees.values()])
    if only is None:
        (last,) = (leaves[-1][-1],) if len(leaves) == SEAL_MAX else db.execute(_LAST).fetchone()
        db.execute(_REACHED, (last,))
    return len(leaves)


def checkpoints(db: sqlite3.Connection, company_id: str, before: int | None, limit: int) -> Sequence[Checkpoint]:
    """The checkpoints of a company, newest first."""
    rows = db.execute(f"{_CHECKPOINT} = ? AND size < ? ORDER BY size DESC LIMIT ?", (company_id, below(before), limit))
    return [checkpoint_of_row(row) for row in rows]


def proven(
    db: sqlite3.Connection, company_id: str, run_id: str, after: int = 0, limit: int | None = None
) -> Proven | None:
    """A run's commits with the proof of the last one."""
    found, top = db.execute(_LAST_LEAF, (company_id, run_id)).fetchone(), checkpoints(db, company_id, None, 1)
    if found is None or found[0] is None or not top or top[0].size <= found[0]:
        return None
    rows = db.execute(f"{_COMMITS} AND version > ? ORDER BY version LIMIT ?", (company_id, run_id, after, limit or -1))
    commits = [Entry(-1, *row) for row in rows]
    before = genesis(company_id, run_id)
    if commits and commits[0].first_seq > 1:
        place = (company_id, run_id, commits[0].first_seq - 1)
        (before,) = db.execute(f"{_HEAD} AND version = ?", place).fetchone() or (b"",)
    proof = merkle.inclusion(found[0], top[0].size, partial(_node, db, company_id))
    return Proven(commits, before, Entry(*found), proof, top[0])


def entries(db: sqlite3.Connection, company_id: str, first: int, end: int) -> Sequence[Entry]:
    """The commits under these leaves."""
    return [Entry(*row) for row in db.execute(_ENTRIES, (company_id, first, end))]


def logged(db: sqlite3.Connection, company_id: str, before: int | None, limit: int) -> Sequence[Entry]:
    """The commits of a company's own log, newest first."""
    place = (company_id, company_id, below(before), limit)
    rows = db.execute(f"{_COMMITS} AND first_seq < ? ORDER BY version DESC LIMIT ?", place)
    return [Entry(-1, *row) for row in rows]


def _growing(db: sqlite3.Connection, company_id: str) -> Growing:
    (last,) = db.execute("SELECT max(number) FROM audit_leaves WHERE company_id = ?", (company_id,)).fetchone()
    before = checkpoints(db, company_id, None, 1)
    previous = before[0].root if before else None
    return Growing(company_id, 0 if last is None else last + 1, previous, partial(_node, db, company_id))


def _node(db: sqlite3.Connection, company_id: str, level: int, number: int) -> bytes:
    statement = "SELECT hash FROM audit_nodes WHERE company_id = ? AND level = ? AND number = ?"
    row = db.execute(statement, (company_id, level, number)).fetchone()
    if row is None:
        raise HistoryBroken(company_id, number, f"the node {level}:{number} of the company's tree is missing")
    digest: bytes = row[0]
    return digest
