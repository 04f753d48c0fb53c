"""What is verified of a store, in the order in which it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from daemon.model.evidence import SealedCommit
from daemon.stores.tables.agents.actions import ACTIONS
from daemon.stores.tables.connectors import CONNECTOR_CHANGES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from daemon.stores.database import Reader, Row

_RUN = (
    "runs.version, resting, status, parked, updated_at, vertical, created_at, {timer}, {key}, "
    "snapshots.version, schema, body, {archived} FROM runs LEFT JOIN snapshots"
)
_RUNS = {
    "sqlite": f"SELECT {_RUN} ON snapshots.run = runs.number WHERE runs.company_id = $1 AND id = $2",
    "postgres": f"SELECT {_RUN} ON snapshots.company_id = runs.company_id AND run_id = id "
    "WHERE runs.company_id = $1 AND id = $2",
}
_SNAPSHOT_MACS = {
    "sqlite": "SELECT company_id, id, snapshots.version, schema, mac, body FROM snapshots JOIN runs ON number = run",
    "postgres": "SELECT company_id, run_id, version, schema, mac, body FROM snapshots",
}
_SNAPSHOTS_ALONE = {
    "sqlite": "SELECT run FROM snapshots WHERE run NOT IN (SELECT number FROM runs)",
    "postgres": "SELECT run_id FROM snapshots WHERE NOT EXISTS "
    "(SELECT 1 FROM runs WHERE runs.company_id = snapshots.company_id AND id = run_id)",
}
_GATES = (
    "SELECT step_id, vertical, visit, tier, place, words, asked, barred, decided FROM open_gates "
    "WHERE company_id = $1 AND run_id = $2"
)
_GATES_ALONE = (
    "SELECT company_id, run_id, step_id FROM open_gates WHERE NOT EXISTS "
    "(SELECT 1 FROM runs WHERE runs.company_id = open_gates.company_id AND id = run_id)"
)
_ACTIONS_ALONE = (
    "SELECT company_id, run_id FROM actions WHERE NOT EXISTS "
    "(SELECT 1 FROM runs WHERE runs.company_id = actions.company_id AND id = run_id)"
)
_READERS = "SELECT kind, name, ends_at FROM run_readers WHERE company_id = $1 AND run_id = $2"
_READERS_ALONE = (
    "SELECT DISTINCT company_id, run_id FROM run_readers WHERE NOT EXISTS "
    "(SELECT 1 FROM runs WHERE runs.company_id = run_readers.company_id AND id = run_id)"
)
# SQLite numbers the commits of all companies, PostgreSQL those of each company.
_AT_LEAF = {
    "sqlite": "commits.position = audit_leaves.position",
    "postgres": "commits.position = audit_leaves.position AND commits.company_id = audit_leaves.company_id",
}
_LEAVES = (
    "SELECT audit_leaves.number, stream, audit_leaves.version, commits.company_id, run_id, commits.version, head, hash "
    "FROM audit_leaves LEFT JOIN commits ON {} LEFT JOIN audit_nodes AS one ON one.company_id = "
    "audit_leaves.company_id AND level = 0 AND one.number = audit_leaves.number "
    "WHERE audit_leaves.company_id = $1 ORDER BY audit_leaves.number"
)
_ENTRIES = (
    "SELECT number, run_id, commits.version, first_seq, head, events FROM audit_leaves JOIN commits ON {} "
    "WHERE audit_leaves.company_id = $1 AND number < $2 ORDER BY number"
)
_CHILD = (
    "LEFT JOIN audit_nodes AS child{0} ON child{0}.company_id = one.company_id AND child{0}.level = one.level - 1 "
    "AND child{0}.number = 2 * one.number + {0}"
)
_NODES = (
    "SELECT one.level, one.number, one.hash, child0.hash, child1.hash FROM audit_nodes AS one "
    f"{_CHILD.format(0)} {_CHILD.format(1)} WHERE one.company_id = $1 ORDER BY one.level, one.number"
)
_NO_LEAF = "NOT EXISTS (SELECT 1 FROM audit_leaves WHERE {})"
_PASSED_OVER = {
    "sqlite": "WITH reached AS (SELECT company_id, max(position) AS position FROM audit_leaves GROUP BY company_id) "
    "SELECT commits.company_id, run_id, commits.version FROM commits LEFT JOIN reached USING (company_id) "
    f"WHERE {_NO_LEAF.format(_AT_LEAF['sqlite'])} "
    "AND (commits.position <= reached.position OR commits.position <= ({}))",
    "postgres": "SELECT commits.company_id, run_id, commits.version FROM commits JOIN seals "
    "ON seals.company_id = commits.company_id "
    f"WHERE {_NO_LEAF.format(_AT_LEAF['postgres'])} AND commits.position <= seals.position",
}
_WAITING = (
    " AND NOT EXISTS (SELECT 1 FROM audit_stopped WHERE audit_stopped.company_id = commits.company_id "
    "AND commits.position >= audit_stopped.position)"
)
_SEALED_AMISS = {
    "sqlite": "SELECT '' WHERE NOT EXISTS (SELECT 1 FROM audit_sealed "
    "WHERE position <= (SELECT coalesce(max(position), 0) FROM commits))",
    "postgres": "SELECT seals.company_id FROM seals LEFT JOIN clocks ON clocks.company_id = seals.company_id "
    "WHERE seals.position > coalesce(clocks.position, 0) UNION SELECT company_id FROM audit_leaves GROUP BY company_id "
    "HAVING max(position) > coalesce((SELECT position FROM seals WHERE seals.company_id = audit_leaves.company_id), 0)",
}
_DELIVERIES_ASTRAY = (
    "SELECT company_id, webhook_id, id FROM webhook_deliveries WHERE NOT EXISTS (SELECT 1 FROM commits "
    "WHERE commits.company_id = webhook_deliveries.company_id AND commits.run_id = webhook_deliveries.run_id "
    "AND commits.position = webhook_deliveries.position AND first_seq + nth - 1 = seq AND seq <= version) "
    "OR id <> 'msg_' || run_id || '_' || seq{}"
)
_RECIPIENT = " || CASE WHEN recipient IS NULL THEN '' ELSE '_' || recipient END"


_COUNTED = {
    "sqlite": "coalesce((SELECT position FROM report_cursors WHERE company_id = ''), 0)",
    "postgres": "coalesce((SELECT position FROM report_cursors WHERE company_id = $1), 0)",
}


class AuditSource:
    """The rows of a store, in the order in which they are verified."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.tables = reader.columns()

    def commits(self) -> Iterator[Row]:
        """All commits by stream: company, stream, version, first seq, head, exact, events."""
        return self.reader.rows(
            "SELECT company_id, run_id, version, first_seq, head, exact, events FROM commits "
            "ORDER BY company_id, run_id, version"
        )

    def has_macs(self) -> bool:
        """Whether the commits of this store have MACs: those of earlier versions have none."""
        return "mac" in self.tables.get("commits", ())

    def commit_macs(self) -> Iterator[Row]:
        """All commits: company, stream, version, first seq, head, MAC, events."""
        return self.reader.rows("SELECT company_id, run_id, version, first_seq, head, mac, events FROM commits")

    def snapshot_macs(self) -> Iterator[Row]:
        """All snapshots: company, run, version, schema, MAC, body."""
        return self.reader.rows(_SNAPSHOT_MACS[self.reader.dialect])

    def stopped(self) -> Iterator[Row]:
        """Where sealing stopped: company, position; in PostgreSQL it is just behind."""
        found = "audit_stopped" in self.tables
        return self.reader.rows("SELECT company_id, position FROM audit_stopped") if found else iter(())

    def run(self, company_id: str, run_id: str) -> Row | None:
        timer = "wake_at, reviewed" if "wake_at" in self.tables["runs"] else "NULL, 0"
        timer += ", clock_due_at" if "clock_due_at" in self.tables["runs"] else ", NULL"
        key = "business_key" if "business_key" in self.tables["runs"] else "NULL"
        archived = "archived" if "archived" in self.tables["runs"] else "0"
        statement = _RUNS[self.reader.dialect].format(timer=timer, key=key, archived=archived)
        return self.reader.row(statement, company_id, run_id)

    def gates(self, company_id: str, run_id: str) -> list[Row]:
        """What the inbox lists of a run; nothing where the database is of an earlier version."""
        if "asked" not in self.tables.get("open_gates", ()):
            return []
        return list(self.reader.rows(_GATES, company_id, run_id))

    def gates_without_runs(self) -> Iterator[Row]:
        return self.reader.rows(_GATES_ALONE) if "open_gates" in self.tables else iter(())

    def action(self, company_id: str, run_id: str) -> Row | None:
        """The row of an action, if it is one and the database is of this version."""
        if "actions" not in self.tables:
            return None
        return self.reader.row(f"{ACTIONS.select} WHERE company_id = $1 AND run_id = $2", company_id, run_id)

    def actions_without_runs(self) -> Iterator[Row]:
        return self.reader.rows(_ACTIONS_ALONE) if "actions" in self.tables else iter(())

    def readers(self, company_id: str, run_id: str) -> Iterator[Row]:
        """By what lists leave a run out: kind, name, end."""
        return self.reader.rows(_READERS, company_id, run_id) if "run_readers" in self.tables else iter(())

    def readers_without_runs(self) -> Iterator[Row]:
        return self.reader.rows(_READERS_ALONE) if "run_readers" in self.tables else iter(())

    def runs_without_commits(self) -> Iterator[Row]:
        return self.reader.rows(
            "SELECT company_id, id FROM runs WHERE NOT EXISTS "
            "(SELECT 1 FROM commits WHERE commits.company_id = runs.company_id AND run_id = id)"
        )

    def snapshots_without_runs(self) -> Iterator[Row]:
        return self.reader.rows(_SNAPSHOTS_ALONE[self.reader.dialect])

    def companies(self) -> list[str]:
        """Every company that has any part of a tree."""
        rows = self.reader.rows(
            "SELECT company_id FROM audit_leaves UNION SELECT company_id FROM audit_nodes "
            "UNION SELECT company_id FROM audit_checkpoints"
        )
        return sorted(row[0] for row in rows)

    def leaves(self, company_id: str) -> Iterator[Row]:
        """The leaves: number, stream, version, commit, head, hash in the tree."""
        return self.reader.rows(_LEAVES.format(_AT_LEAF[self.reader.dialect]), company_id)

    def size(self, company_id: str) -> int:
        """The number of leaves."""
        row = self.reader.row("SELECT count(*) FROM audit_leaves WHERE company_id = $1", company_id)
        return 0 if row is None else int(row[0])

    def nodes(self, company_id: str) -> Iterator[Row]:
        """The nodes, level by level: level, number, hash, and the hashes of both children."""
        return self.reader.rows(_NODES, company_id)

    def node(self, company_id: str, level: int, number: int) -> bytes:
        """One node; KeyError when it is missing."""
        row = self.reader.row(
            "SELECT hash FROM audit_nodes WHERE company_id = $1 AND level = $2 AND number = $3",
            *(company_id, level, number),
        )
        if row is None:
            raise KeyError((level, number))
        digest: bytes = row[0]
        return digest

    def checkpoints(self, company_id: str) -> Iterator[Row]:
        """The checkpoints, oldest first: at, company, key id, previous, root, signature, size."""
        return self.reader.rows(
            "SELECT at, company_id, key_id, previous, root, signature, size FROM audit_checkpoints "
            "WHERE company_id = $1 ORDER BY size",
            company_id,
        )

    def entries(self, company_id: str, size: int) -> Iterator[SealedCommit]:
        """The commits under the first leaves of a company."""
        statement = _ENTRIES.format(_AT_LEAF[self.reader.dialect])
        return (SealedCommit(*row) for row in self.reader.rows(statement, company_id, size))

    def root(self, company_id: str, size: int) -> str | None:
        """The root of a checkpoint; None without one."""
        row = self.reader.row(
            "SELECT root FROM audit_checkpoints WHERE company_id = $1 AND size = $2", company_id, size
        )
        return None if row is None else str(row[0])

    def unrecorded(self) -> set[tuple[str, int]]:
        """The checkpoints that are still to be recorded in the service's tree."""
        if "audit_unrecorded" not in self.tables:
            return set()
        return {(row[0], row[1]) for row in self.reader.rows("SELECT company_id, size FROM audit_unrecorded")}

    def passed_over(self) -> Iterator[Row]:
        """Commits without a leaf that should have one: company, stream, version."""
        noted, stopped = "audit_sealed" in self.tables, "audit_stopped" in self.tables
        sealed = "SELECT position FROM audit_sealed" if noted else "SELECT max(position) FROM audit_leaves"
        waiting = _WAITING if stopped and self.reader.dialect == "sqlite" else ""
        return self.reader.rows(_PASSED_OVER[self.reader.dialect].format(sealed) + waiting)

    def sealed_amiss(self) -> Iterator[Row]:
        """Companies whose mark of what is sealed is missing, or not where it can be."""
        if self.reader.dialect == "sqlite" and "audit_sealed" not in self.tables:
            return iter(())
        return self.reader.rows(_SEALED_AMISS[self.reader.dialect])

    def changes(self) -> Iterator[Row]:
        """All changes of connectors, tool by tool in order."""
        return self.reader.rows(f"{CONNECTOR_CHANGES.select} ORDER BY company_id, tool_id, number")

    def deliveries_astray(self) -> Iterator[Row]:
        """Deliveries of what is no event of their company: company, webhook, id."""
        if "webhook_deliveries" not in self.tables:
            return iter(())
        recipient = _RECIPIENT if "recipient" in self.tables["webhook_deliveries"] else ""
        return self.reader.rows(_DELIVERIES_ASTRAY.format(recipient))

    def counted(self, company_id: str, run_id: str, seq: int) -> bool:
        """Whether reports have come to an event of a run."""
        row = self.reader.row(
            "SELECT 1 FROM commits WHERE company_id = $1 AND run_id = $2 AND first_seq <= $3 AND version >= $3 "
            f"AND position <= {_COUNTED[self.reader.dialect]}",
            *(company_id, run_id, seq),
        )
        return row is not None

    def table(self, name: str, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
        """The rows of a table by column."""
        for row in self.reader.rows(f"SELECT {', '.join(columns)} FROM {name}"):
            yield dict(zip(columns, row, strict=True))
