"""Every column of every table is changed in turn, and rows come and go: `verify` finds each, or the
guide lists it.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from daemon.stores.migrations import read_migrations
from daemon.stores.sqlite.engine import migrate
from daemon.verification.gaps import GAPS, undetectable
from daemon.verification.stores import verify_store
from tests.audit import columns, past
from tests.audit.columns import TamperedSqlite
from tests.audit.past import Past, plain_copy
from tests.histories import ACME, OTHER


def schema() -> dict[str, list[str]]:
    """The columns of each table that the migrations make, apart from those of search indexes."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        migrate(db, read_migrations(), "")
        tables = db.execute("SELECT name FROM pragma_table_list WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
        return {name: [row[1] for row in db.execute(f"PRAGMA table_info({name})")] for (name,) in tables.fetchall()}


EMPTY = "audit_stopped"
"""A table that has no row in a sound database."""
TABLES = {name: names for name, names in schema().items() if name != EMPTY}
# A constraint leaves the column `sole` one value.
COLUMNS = [(table, column) for table, names in TABLES.items() for column in names if column != "sole"]
STAY = "audit_leaves_stay"


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Past:
    return past.make(tmp_path_factory.mktemp("small"), runs=2)


def found(made: Past, path: Path) -> bool:
    kept = [*made.kept.values(), made.service]
    return any(True for _ in verify_store(path, made.keys, kept, commit_keys=made.commit_keys))


@pytest.mark.parametrize(("table", "column"), COLUMNS, ids=[".".join(one) for one in COLUMNS])
def test_a_changed_column_is_found_or_listed(small: Past, tmp_path: Path, table: str, column: str) -> None:
    seen = []
    for last in (False, True):
        with closing(plain_copy(small, tmp_path / "copy.db")) as db:
            columns.change(TamperedSqlite(db), table, column, last)
        seen.append(found(small, tmp_path / "copy.db"))
    if column in undetectable(table):
        assert not all(seen), "it is found, and listed as not found"
    else:
        assert all(seen), "nothing was found"


@pytest.mark.parametrize("table", TABLES)
def test_a_deleted_row_is_found_or_listed(small: Past, tmp_path: Path, table: str) -> None:
    with closing(plain_copy(small, tmp_path / "copy.db")) as db:
        columns.delete(TamperedSqlite(db), table)
    assert found(small, tmp_path / "copy.db") is ("deleted" not in undetectable(table))


@pytest.mark.parametrize("table", [table for table in TABLES if table != "audit_sealed"])
def test_an_inserted_row_is_found_or_listed(small: Past, tmp_path: Path, table: str) -> None:
    with closing(plain_copy(small, tmp_path / "copy.db")) as db:
        columns.insert(TamperedSqlite(db), table)
    assert found(small, tmp_path / "copy.db") is ("inserted" not in undetectable(table))


@pytest.mark.parametrize(
    ("table", "named"),
    [
        ("own_templates", f"petty-cash 2 of {OTHER!r}"),
        ("run_redactions", f"redacted-eve 2 of {OTHER!r}"),
        ("group_members", f"physicians user-eve of {OTHER!r}"),
        ("invitations", f"invitation '{'01' * 31}65'"),
    ],
)
def test_a_row_is_named_by_all_of_its_key(small: Past, tmp_path: Path, table: str, named: str) -> None:
    with closing(plain_copy(small, tmp_path / "copy.db")) as db:
        columns.delete(TamperedSqlite(db), table)
    assert named in {one.where for one in verify_store(tmp_path / "copy.db", small.keys)}


def test_a_company_that_is_said_to_be_sealed_no_more_is_found(small: Past, tmp_path: Path) -> None:
    with closing(plain_copy(small, tmp_path / "copy.db")) as db:
        db.execute("INSERT INTO audit_stopped VALUES (?, 1)", (ACME,))
    assert found(small, tmp_path / "copy.db")


def test_cases_that_reports_have_not_come_to_are_no_finding(small: Past, tmp_path: Path) -> None:
    with closing(plain_copy(small, tmp_path / "copy.db")) as db:
        db.execute("DELETE FROM report_judged")
    assert found(small, tmp_path / "copy.db")
    with closing(plain_copy(small, tmp_path / "copy.db")) as db:
        db.execute("DELETE FROM report_judged")
        db.execute("UPDATE report_cursors SET position = 0")
    assert not found(small, tmp_path / "copy.db")


@pytest.mark.parametrize("table", TABLES)
def test_rows_that_changed_places_are_found(small: Past, tmp_path: Path, table: str) -> None:
    with closing(plain_copy(small, tmp_path / "copy.db")) as db:
        if not columns.swap(TamperedSqlite(db), table, undetectable(table)):
            return
    assert found(small, tmp_path / "copy.db")


def test_a_company_that_was_deleted_whole_is_found_by_the_services_checkpoint(small: Past, tmp_path: Path) -> None:
    with closing(plain_copy(small, tmp_path / "copy.db")) as db:
        db.execute("DELETE FROM snapshots WHERE run IN (SELECT number FROM runs WHERE company_id = ?)", (ACME,))
        for table, names in TABLES.items():
            if "company_id" in names:
                db.execute(f"DELETE FROM {table} WHERE company_id = ?", (ACME,))
        db.execute("DELETE FROM companies WHERE id = ?", (ACME,))
        db.execute("DELETE FROM revocations WHERE token_id LIKE 'session-ann-%'")
    findings = list(verify_store(tmp_path / "copy.db", small.keys, [small.service]))
    assert {(one.kind, ACME in one.where) for one in findings} >= {("roots", True)}


def test_a_services_log_that_was_rolled_back_is_found_by_its_kept_checkpoint(small: Past, tmp_path: Path) -> None:
    with closing(plain_copy(small, tmp_path / "copy.db", small.earlier)):
        pass
    findings = list(verify_store(tmp_path / "copy.db", small.keys, [small.service]))
    assert [one.kind for one in findings] == ["rolled_back"]


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TRIGGER audit_leaves_stay",
        f"DROP TRIGGER {STAY}; CREATE TRIGGER {STAY} BEFORE UPDATE ON audit_leaves BEGIN SELECT 1; END",
        "CREATE TRIGGER more AFTER INSERT ON connectors BEGIN UPDATE connectors SET updated_by = 'x'; END",
        "DROP INDEX runs_unfinished",
        "CREATE UNIQUE INDEX one ON companies (name, id)",
        "ALTER TABLE users ADD COLUMN more TEXT",
    ],
)
def test_a_changed_schema_is_found(small: Past, tmp_path: Path, statement: str) -> None:
    plain_copy(small, tmp_path / "copy.db").close()
    with closing(sqlite3.connect(tmp_path / "copy.db", isolation_level=None)) as db:
        db.executescript(statement)
    assert {one.kind for one in verify_store(tmp_path / "copy.db", small.keys)} == {"schema"}


def test_every_gap_names_columns_that_there_are() -> None:
    for gap in GAPS:
        if "PostgreSQL" not in gap.why:
            assert set(gap.columns) <= set(TABLES[gap.table]), gap.table
