"""On PostgreSQL, too, every changed column of every table is found by `verify` or listed."""

from __future__ import annotations

import asyncio
import base64
import json
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from daemon.audit.sealer import Signer, read_public
from daemon.keys.keyring import KeyRing, write_ring
from daemon.model.audit_events import SERVICE
from daemon.model.evidence import StoredCheckpoint
from daemon.stores.postgres.store import PostgresStore
from daemon.verification.findings import AuditFinding
from daemon.verification.gaps import undetectable
from daemon.verification.stores import verify_database
from tests.audit import columns
from tests.audit.columns import Column
from tests.audit.scenario import first_half, second_half
from tests.audit.test_commands import penstock
from tests.histories import ACME, NOON, OTHER
from tests.postgres import KEYS, Server

EMPTY = ("daemons", "moves", "rates")
"""Tables that nothing of this past is in."""

_ABOUT = (
    "SELECT attname, format_type(atttypid, atttypmod), coalesce(attnum = ANY(indkey), false) FROM pg_attribute "
    "LEFT JOIN pg_index ON indrelid = attrelid AND indisprimary "
    "WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum"
)
TABLES = (
    "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') "
    "AND NOT relispartition"
)


class TamperedPostgres:
    """A transaction that is rolled back when it was looked at."""

    def __init__(self, runner: asyncio.Runner, db: Any) -> None:
        self._runner = runner
        self._db = db

    def about(self, table: str) -> list[Column]:
        return [Column(*row) for row in self.rows(_ABOUT, table)]

    def rows(self, statement: str, *values: Any) -> list[Sequence[Any]]:
        return [tuple(row) for row in self._runner.run(self._db.fetch(statement, *values))]

    @contextmanager
    def restored(self, table: str) -> Iterator[None]:
        """The table has its rows again afterwards."""
        names = ", ".join(f'"{column.name}"' for column in self.about(table))
        self.run(f"CREATE TEMP TABLE before AS SELECT {names} FROM {table}")
        try:
            yield
        finally:
            self.run(f"DELETE FROM {table}")
            self.run(f"INSERT INTO {table} ({names}) OVERRIDING SYSTEM VALUE SELECT {names} FROM pg_temp.before")
            self.run("DROP TABLE pg_temp.before")

    def run(self, statement: str, *values: Any) -> None:
        self._runner.run(self._db.execute(statement, *values))


@dataclass
class PastOnPostgres:
    """A database in which it happened, with the keys and checkpoints that were kept."""

    server: Server
    url: str
    keys: dict[str, bytes]
    kept: list[StoredCheckpoint]
    tables: dict[str, list[Column]]

    @contextmanager
    def tampered(self) -> Iterator[tuple[TamperedPostgres, str]]:
        """A copy, whose triggers do not refuse changes."""
        with asyncio.Runner() as runner:
            url = runner.run(self.server.made(self.url.rpartition("/")[2]))
            db = runner.run(asyncpg.connect(url, server_settings={"session_replication_role": "replica"}))
            try:
                yield TamperedPostgres(runner, db), url
            finally:
                runner.run(db.close())
                runner.run(self.server.dropped(url))

    def findings(self, url: str) -> Iterator[AuditFinding]:
        return verify_database(url, self.keys, self.kept, commit_keys=KEYS)


@pytest.fixture(scope="module")
def made(postgres: Server, template: str, tmp_path_factory: pytest.TempPathFactory) -> PastOnPostgres:
    folder = tmp_path_factory.mktemp("postgres")
    write_ring(folder / "audit.keys", KeyRing("old", {"old": secrets.token_bytes(32)}))
    signer = Signer(folder / "audit.keys", folder / "audit.pub", lambda: NOON)
    url = asyncio.run(postgres.made(template))
    kept = asyncio.run(_happened(url, signer))
    with asyncio.Runner() as runner:
        db = runner.run(asyncpg.connect(url))
        look = TamperedPostgres(runner, db)
        names = [row[0] for row in look.rows(TABLES)]
        tables = {name: look.about(name) for name in sorted(names)}
        runner.run(db.close())
    return PastOnPostgres(postgres, url, read_public(folder / "audit.pub"), kept, tables)


async def _happened(url: str, signer: Signer) -> list[StoredCheckpoint]:
    async with PostgresStore.open(url, KEYS, clock=lambda: NOON) as store:
        await first_half(store, signer, runs=2)
        await second_half(store, signer, runs=2)
        return [(await store.checkpoints(company, None, 1))[0] for company in (ACME, OTHER, SERVICE)]


def test_a_sound_database_has_no_findings(made: PastOnPostgres) -> None:
    assert list(made.findings(made.url)) == []


def test_every_changed_column_is_found_or_listed(made: PastOnPostgres) -> None:
    wrong = []
    with made.tampered() as (db, url):
        for table, about in made.tables.items():
            for column in about:
                if table in EMPTY or column.name in ("sole", "noted_at", "epoch_noted_at"):
                    continue
                with db.restored(table):
                    columns.change(db, table, column.name, last=True)
                    found = any(True for _ in made.findings(url))
                if found is (column.name in undetectable(table)):
                    wrong.append((table, column.name, found))
        assert list(made.findings(url)) == []
    assert wrong == []


@pytest.mark.parametrize("how", [columns.delete, columns.insert])
def test_every_row_that_comes_or_goes_is_found_or_listed(made: PastOnPostgres, how: Any) -> None:
    name, wrong = {"delete": "deleted", "insert": "inserted"}[how.__name__], []
    for table in made.tables:
        if table in EMPTY or table in ("epochs", "migrations"):
            continue
        with made.tampered() as (db, url):
            how(db, table)
            found = any(True for _ in made.findings(url))
        if found is (name in undetectable(table)):
            wrong.append((table, found))
    assert wrong == []


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TRIGGER audit_leaves_stay ON audit_leaves",
        "ALTER TABLE audit_leaves DISABLE TRIGGER audit_leaves_stay",
        "CREATE OR REPLACE FUNCTION penstock_stays() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
        "CREATE RULE more AS ON INSERT TO connectors DO ALSO UPDATE connectors SET updated_by = 'x'",
        "DROP INDEX runs_unfinished",
        "ALTER TABLE members ALTER COLUMN role SET DEFAULT 'owner'",
        "ALTER TABLE users DROP CONSTRAINT users_pkey",
    ],
)
def test_a_changed_schema_is_found(made: PastOnPostgres, statement: str) -> None:
    with made.tampered() as (db, url):
        db.run(statement)
        assert {one.kind for one in made.findings(url)} == {"schema"}


def test_a_database_that_cannot_be_reached_is_a_finding(made: PastOnPostgres, tmp_path: Path) -> None:
    url = f"{made.url.rpartition('/')[0]}/{tmp_path.name}"
    assert [one.kind for one in made.findings(url)] == ["database"]


def test_the_command_verifies_the_database_of_the_settings(
    made: PastOnPostgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = {name: base64.b64encode(key).decode() for name, key in made.keys.items()}
    (tmp_path / "pinned.pub").write_text(json.dumps(keys))
    monkeypatch.setenv("PENSTOCK_DATABASE_URL", made.url)
    pinned = ("--key", tmp_path / "pinned.pub", "--data-dir", tmp_path)
    assert penstock("verify", "--database", *pinned).exit_code == 0
    (tmp_path / "kept.json").write_text(penstock("audit", "checkpoint", "--service", "--data-dir", tmp_path).output)
    with made.tampered() as (db, url):
        monkeypatch.setenv("PENSTOCK_DATABASE_URL", url)
        db.run("UPDATE members SET role = 'owner' WHERE company_id = $1", ACME)
        found = penstock("verify", "--database", *pinned, "--against", tmp_path / "kept.json")
    assert found.exit_code == 1
    assert f"member: user-ann of {ACME!r}: role is not what the log says" in found.output
    monkeypatch.delenv("PENSTOCK_DATABASE_URL")
    assert penstock("verify", "--database", *pinned).exit_code == 78
