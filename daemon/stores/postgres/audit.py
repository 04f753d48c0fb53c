"""The companies' trees and checkpoints in PostgreSQL: one company, one transaction, whichever daemon seals."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from daemon.model import merkle
from daemon.model.chain import HistoryBroken, genesis
from daemon.model.evidence import Checkpoint, Entry, Growing, Proven, Sign, leaf
from daemon.stores.rows import below, bounded, checkpoint_of_row, checkpoint_row

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from daemon.stores.postgres.connection import Db

_BEHIND = (
    "SELECT coalesce(sum(clocks.position - coalesce(seals.position, 0)), 0)::bigint "
    "FROM clocks LEFT JOIN seals ON seals.company_id = clocks.company_id"
)
_DUE = (
    "SELECT clocks.company_id FROM clocks LEFT JOIN seals ON seals.company_id = clocks.company_id "
    "WHERE clocks.position > coalesce(seals.position, 0) AND clocks.company_id > $1 ORDER BY clocks.company_id LIMIT $2"
)
_SEALED = "SELECT position FROM seals WHERE company_id = $1 FOR UPDATE SKIP LOCKED"
_UNSEALED = (
    "SELECT position, run_id, version, head FROM commits "
    "WHERE company_id = $1 AND position > $2 AND position <= $3 ORDER BY position LIMIT $4"
)
_CHECKPOINT = "SELECT at, company_id, key_id, previous, root, signature, size FROM audit_checkpoints WHERE company_id"
_COMMITS = (
    "SELECT run_id, version, first_seq, head, events FROM commits "
    "WHERE company_id = $1 AND run_id = $2 AND version > $3 ORDER BY version LIMIT $4"
)
_LOGGED = (
    "SELECT run_id, version, first_seq, head, events FROM commits "
    "WHERE company_id = $1 AND run_id = $1 AND first_seq < $2 ORDER BY version DESC LIMIT $3"
)
_HEAD = "SELECT head FROM commits WHERE company_id = $1 AND run_id = $2 AND version = $3"
_LAST_LEAF = (
    "SELECT number, commits.run_id, commits.version, first_seq, head, events FROM commits "
    "LEFT JOIN LATERAL (SELECT number FROM audit_leaves WHERE audit_leaves.company_id = commits.company_id "
    "AND audit_leaves.position = commits.position LIMIT 1) AS leaf ON true "
    "WHERE commits.company_id = $1 AND commits.run_id = $2 ORDER BY commits.version DESC LIMIT 1"
)
_ENTRIES = (
    "SELECT number, one.* FROM audit_leaves CROSS JOIN LATERAL ("
    "SELECT commits.run_id, commits.version, first_seq, head, events FROM commits "
    "WHERE commits.company_id = audit_leaves.company_id AND commits.position = audit_leaves.position LIMIT 1) AS one "
    "WHERE audit_leaves.company_id = $1 AND number >= $2 AND number < $3 ORDER BY number"
)
# By LATERAL each node is found by its key; otherwise the planner may read all that the company has.
_NODES = (
    "SELECT asked.level, asked.number, hash FROM unnest($2::bigint[], $3::bigint[]) AS asked(level, number) "
    "CROSS JOIN LATERAL (SELECT hash FROM audit_nodes WHERE company_id = $1 "
    "AND audit_nodes.level = asked.level AND audit_nodes.number = asked.number LIMIT 1) AS one"
)
Places = set[tuple[int, int]]


async def unsealed(db: Db) -> int:
    """How many positions there are behind the last leaves."""
    return int(await db.fetchval(_BEHIND))


async def due(db: Db, after: str, limit: int) -> Sequence[str]:
    """At most `limit` companies behind one that have commits without a leaf."""
    return [row[0] for row in await db.fetch(_DUE, after, limit)]


async def seal(db: Db, company_id: str, sign: Sign, limit: int) -> int:
    """Give a company's next commits their leaves, and it a checkpoint; 0 when another daemon is at it."""
    await db.execute("INSERT INTO seals VALUES ($1, 0) ON CONFLICT DO NOTHING", company_id)
    sealed = await db.fetchval(_SEALED, company_id)
    reached = await db.fetchval("SELECT position FROM clocks WHERE company_id = $1", company_id)
    if sealed is None or reached is None:
        return 0
    rows = await db.fetch(_UNSEALED, company_id, sealed, reached, limit)
    if rows:
        tree = await _growing(db, company_id)
        leaves = [(company_id, tree.append(leaf(row[1], row[2], row[3])), row[1], row[2], row[0]) for row in rows]
        await db.executemany("INSERT INTO audit_leaves VALUES ($1, $2, $3, $4, $5)", leaves)
        made = [(company_id, *place, digest) for place, digest in tree.made.items()]
        await db.executemany("INSERT INTO audit_nodes VALUES ($1, $2, $3, $4)", made)
        await db.execute(
            "INSERT INTO audit_checkpoints (company_id, size, at, key_id, previous, root, signature) "
            "VALUES ($1, $2, $3, $4, $5, $6, $7)",
            *checkpoint_row(tree.checkpoint(sign)),
        )
    last = rows[-1][0] if len(rows) == limit else reached
    await db.execute("UPDATE seals SET position = $2 WHERE company_id = $1", company_id, last)
    return len(rows)


async def checkpoints(db: Db, company_id: str, before: int | None, limit: int) -> Sequence[Checkpoint]:
    """The checkpoints of a company, newest first."""
    rows = await db.fetch(
        f"{_CHECKPOINT} = $1 AND size < $2 ORDER BY size DESC LIMIT $3", company_id, below(before), limit
    )
    return [checkpoint_of_row(tuple(row)) for row in rows]


async def proven(db: Db, company_id: str, run_id: str, after: int = 0, limit: int | None = None) -> Proven | None:
    """A run's commits with the proof of the last one."""
    found, top = await db.fetchrow(_LAST_LEAF, company_id, run_id), await checkpoints(db, company_id, None, 1)
    if found is None or found[0] is None or not top or top[0].size <= found[0]:
        return None
    rows = await db.fetch(_COMMITS, company_id, run_id, after, limit)
    commits = [Entry(-1, *row) for row in rows]
    before = genesis(company_id, run_id)
    if commits and commits[0].first_seq > 1:
        before = await db.fetchval(_HEAD, company_id, run_id, commits[0].first_seq - 1) or b""
    number, size = found[0], top[0].size
    node = await _nodes(db, company_id, _needed(partial(merkle.inclusion, number, size)))
    return Proven(commits, before, Entry(*found), merkle.inclusion(number, size, node), top[0])


async def entries(db: Db, company_id: str, first: int, end: int) -> Sequence[Entry]:
    """The commits under these leaves."""
    return [Entry(*row) for row in await db.fetch(_ENTRIES, company_id, bounded(first), bounded(end))]


async def logged(db: Db, company_id: str, before: int | None, limit: int) -> Sequence[Entry]:
    """The commits of a company's own log, newest first."""
    return [Entry(-1, *row) for row in await db.fetch(_LOGGED, company_id, below(before), limit)]


async def _growing(db: Db, company_id: str) -> Growing:
    last = await db.fetchval("SELECT max(number) FROM audit_leaves WHERE company_id = $1", company_id)
    before = await checkpoints(db, company_id, None, 1)
    size = 0 if last is None else last + 1
    # What a tree of that size ends with on each level: nothing else is needed to go on.
    edge = {(level, (size >> level) - 1) for level in range(size.bit_length())}
    return Growing(company_id, size, before[0].root if before else None, await _nodes(db, company_id, edge))


async def _nodes(db: Db, company_id: str, places: Places) -> merkle.Node:
    """These nodes of a company's tree, read at once."""
    rows = await db.fetch(_NODES, company_id, [level for level, _ in places], [number for _, number in places])
    held = {(level, number): digest for level, number, digest in rows}

    def node(level: int, number: int) -> bytes:
        digest: bytes | None = held.get((level, number))
        if digest is None:
            raise HistoryBroken(company_id, number, f"the node {level}:{number} of the company's tree is missing")
        return digest

    return node


def _needed(asking: Callable[[merkle.Node], Any]) -> Places:
    """The nodes that somebody asks for, whatever they hold."""
    asked: Places = set()

    def node(level: int, number: int) -> bytes:
        asked.add((level, number))
        return b""

    asking(node)
    return asked
