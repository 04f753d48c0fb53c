"""A store opened read-only in one state, also beside a running service."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from daemon.stores.sqlite.connection import DATABASE
from daemon.stores.sqlite.inspection import read_only

Row = tuple[Any, ...]


class AuditSource:
    """The rows of a store, in the order in which they are verified."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def commits(self) -> Iterator[Row]:
        """All commits by stream: company, stream, version, first seq, head, exact, events."""
        return self._db.execute(
            "SELECT company_id, run_id, version, first_seq, head, exact, events FROM commits "
            "ORDER BY company_id, run_id, version"
        )

    def run(self, company_id: str, run_id: str) -> Row | None:
        row: Row | None = self._db.execute(
            "SELECT runs.version, runs.resting, runs.status, runs.parked, runs.updated_at, runs.vertical, "
            "runs.created_at, snapshots.version, snapshots.schema, snapshots.checksum, snapshots.body "
            "FROM runs LEFT JOIN snapshots ON snapshots.run = runs.number WHERE company_id = ? AND id = ?",
            (company_id, run_id),
        ).fetchone()
        return row

    def runs_without_commits(self) -> Iterator[Row]:
        return self._db.execute(
            "SELECT company_id, id FROM runs WHERE NOT EXISTS "
            "(SELECT 1 FROM commits WHERE commits.company_id = runs.company_id AND run_id = id)"
        )

    def companies(self) -> list[str]:
        """Every company that has any part of a tree."""
        rows = self._db.execute(
            "SELECT company_id FROM audit_leaves UNION SELECT company_id FROM audit_nodes "
            "UNION SELECT company_id FROM audit_checkpoints"
        )
        return [row[0] for row in rows]

    def leaves(self, company_id: str) -> Iterator[Row]:
        """The leaves with the commit at their position: number, stream, version, commit."""
        return self._db.execute(
            "SELECT number, stream, audit_leaves.version, commits.company_id, run_id, commits.version, head "
            "FROM audit_leaves LEFT JOIN commits USING (position) WHERE audit_leaves.company_id = ? ORDER BY number",
            (company_id,),
        )

    def nodes(self, company_id: str) -> Iterator[Row]:
        """The nodes, level by level: level, number, hash."""
        return self._db.execute(
            "SELECT level, number, hash FROM audit_nodes WHERE company_id = ? ORDER BY level, number", (company_id,)
        )

    def node(self, company_id: str, level: int, number: int) -> bytes:
        """One node; KeyError when it is missing."""
        row = self._db.execute(
            "SELECT hash FROM audit_nodes WHERE company_id = ? AND level = ? AND number = ?",
            (company_id, level, number),
        ).fetchone()
        if row is None:
            raise KeyError((level, number))
        digest: bytes = row[0]
        return digest

    def checkpoints(self, company_id: str) -> Iterator[Row]:
        """The checkpoints, oldest first: at, company, key id, previous, root, signature, size."""
        return self._db.execute(
            "SELECT at, company_id, key_id, previous, root, signature, size FROM audit_checkpoints "
            "WHERE company_id = ? ORDER BY size",
            (company_id,),
        )

    def passed_over(self) -> Iterator[Row]:
        """Commits without a leaf that should have one: company, stream, version."""
        noted = self._db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'audit_sealed'").fetchone()
        sealed = "SELECT position FROM audit_sealed" if noted else "SELECT max(position) FROM audit_leaves"
        return self._db.execute(
            "WITH reached AS (SELECT company_id, max(position) AS position FROM audit_leaves GROUP BY company_id) "  # noqa: S608 - statements of our own
            "SELECT company_id, run_id, commits.version FROM commits LEFT JOIN reached USING (company_id) "
            "WHERE commits.position NOT IN (SELECT position FROM audit_leaves) "
            f"AND (commits.position <= reached.position OR commits.position <= ({sealed}))"
        )

    def changes(self) -> Iterator[Row]:
        """All changes of connectors, tool by tool in order."""
        return self._db.execute(
            "SELECT company_id, tool_id, number, version, at, by, secret, before, after, via FROM connector_changes "
            "ORDER BY company_id, tool_id, number"
        )

    def connectors(self) -> Iterator[Row]:
        """The connectors as they are: company, tool, connector."""
        return self._db.execute("SELECT company_id, tool_id, connector FROM connectors")


@contextmanager
def reading(path: Path) -> Iterator[AuditSource]:
    file = path / DATABASE if path.is_dir() else path
    with closing(sqlite3.connect(read_only(file), uri=True, isolation_level=None)) as db:
        db.execute("PRAGMA query_only = 1").fetchall()
        db.execute("PRAGMA busy_timeout = 5000").fetchall()
        db.execute("BEGIN")
        yield AuditSource(db)
