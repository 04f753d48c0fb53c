"""Addresses of versions that compared by `casefold` are found by their owners alone."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from daemon.contract.base import email_key
from daemon.stores.addresses import MIGRATION
from daemon.stores.migrations import read_migrations
from daemon.stores.sqlite.engine import migrate

AT = "2026-01-01T00:00:00Z"
EMAILS = ("Ada@example.test", "bo\u00df@example.test", "JOSE\u0301@example.test")
"""As an earlier version kept them."""


@pytest.fixture
def upgraded() -> Iterator[sqlite3.Connection]:
    """A database that an earlier version wrote, migrated."""
    known = read_migrations()
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        migrate(db, [one for one in known if one.number < _number()], AT)
        db.execute("INSERT INTO companies VALUES ('c', 'Acme', ?)", (AT,))
        for number, email in enumerate(EMAILS):
            user = ("c", f"u{number}", email, email.casefold(), "hash", AT)
            columns = "company_id, id, email, email_key, password_hash, created_at"
            db.execute(f"INSERT INTO users ({columns}) VALUES (?, ?, ?, ?, ?, ?)", user)  # noqa: S608 - names of our own
            member = ("c", f"u{number}", f"u{number}", email, email.casefold(), "member", "active", AT)
            columns = "company_id, id, user_id, email, email_key, role, status, changed_at"
            db.execute(f"INSERT INTO members ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", member)  # noqa: S608
        migrate(db, known, AT)
        yield db


def _number() -> int:
    return next(one.number for one in read_migrations() if one.name == MIGRATION)


@pytest.mark.parametrize("table", ["users", "members"])
def test_each_is_found_under_its_own_address(upgraded: sqlite3.Connection, table: str) -> None:
    found = dict(upgraded.execute(f"SELECT email, email_key FROM {table}"))  # noqa: S608
    assert found == {email: email_key(email) for email in EMAILS}


def test_a_twin_by_casefold_is_another_address(upgraded: sqlite3.Connection) -> None:
    taken = upgraded.execute("SELECT count(*) FROM users WHERE email_key = ?", (email_key("boss@example.test"),))
    assert taken.fetchone() == (0,)
