"""The schema: known by number and checksum, and never guessed."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from daemon.model import SchemaMismatch
from daemon.stores.migrations import Migration, read_migrations
from daemon.stores.sqlite.engine import migrate, statements

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ONE = Migration(1, "one", "CREATE TABLE a (x TEXT);\nCREATE TABLE b (x TEXT);\n")
TWO = Migration(2, "two", "ALTER TABLE a ADD COLUMN y TEXT;\n")


@pytest.fixture
def db() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        yield connection


def remembered(db: sqlite3.Connection) -> list[tuple[int, str]]:
    return db.execute("SELECT number, applied_at FROM migrations ORDER BY number").fetchall()


def test_the_shipped_migrations_make_a_database(db: sqlite3.Connection) -> None:
    migrate(db, read_migrations(), "today")
    tables = {name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    assert tables >= {"companies", "users", "revocations", "templates", "connectors", "runs", "commits", "receipts"}
    assert tables >= {"company_keys", "connector_changes"}


def test_each_migration_is_applied_once(db: sqlite3.Connection) -> None:
    migrate(db, [ONE], "monday")
    migrate(db, [ONE], "tuesday")
    migrate(db, [ONE, TWO], "wednesday")
    assert remembered(db) == [(1, "monday"), (2, "wednesday")]


def test_a_changed_migration_is_refused_by_name(db: sqlite3.Connection) -> None:
    migrate(db, [ONE], "monday")
    with pytest.raises(SchemaMismatch, match=r"Migration 1 \(one\)"):
        migrate(db, [Migration(1, "one", "CREATE TABLE c (x TEXT);")], "tuesday")


def test_a_database_of_a_newer_version_is_refused(db: sqlite3.Connection) -> None:
    migrate(db, [ONE, TWO], "monday")
    with pytest.raises(SchemaMismatch, match="written by a newer one"):
        migrate(db, [ONE], "tuesday")


def test_a_migration_that_fails_half_way_leaves_nothing_behind(db: sqlite3.Connection) -> None:
    broken = Migration(2, "broken", "CREATE TABLE c (x TEXT);\nINSERT INTO nowhere VALUES (1);\n")
    with pytest.raises(sqlite3.OperationalError):
        migrate(db, [ONE, broken], "monday")
    assert remembered(db) == [(1, "monday")]
    assert db.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'c'").fetchone() == (0,)
    assert not db.in_transaction


def test_migrations_are_read_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    (tmp_path / "0002_later.sql").write_text("SELECT 2;", encoding="utf-8")
    (tmp_path / "0001_sooner.sql").write_text("SELECT 1;", encoding="utf-8")
    assert [migration.name for migration in read_migrations(tmp_path)] == ["sooner", "later"]


@pytest.mark.parametrize("names", [["0002_gap.sql"], ["1_short.sql"], ["0001_a.sql", "0001_b.sql"]])
def test_files_with_a_gap_or_an_odd_name_are_refused(tmp_path: Path, names: list[str]) -> None:
    for name in names:
        (tmp_path / name).write_text("SELECT 1;", encoding="utf-8")
    with pytest.raises(ValueError, match="migration"):
        read_migrations(tmp_path)


def test_a_script_is_cut_between_its_statements() -> None:
    script = "-- a; b\nCREATE TABLE t (x TEXT DEFAULT ';');\nSELECT 1;\n"
    assert statements(script) == ["-- a; b\nCREATE TABLE t (x TEXT DEFAULT ';');", "SELECT 1;"]


def test_a_script_that_ends_within_a_statement_is_refused() -> None:
    with pytest.raises(ValueError, match="ends within a statement"):
        statements("SELECT 1;\nSELECT")
