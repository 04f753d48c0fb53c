"""Comparison of tables with the rows that the logs lead to."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from actors.core.canonical import canonical
from actors.core.canonical import digest as digest_of_document
from daemon.model import chain
from daemon.model.people.companies import (
    ACTION_PAUSES,
    ACTION_RULES,
    AUTONOMY,
    CALENDAR,
    FUNCTIONS,
    POLICY,
    CompanySetting,
)
from daemon.stores import codec
from daemon.stores.database import Row
from daemon.stores.table import Table
from daemon.stores.tables.agents.actions import DOCUMENTS, INSTANCES, SERVER_CHANGES, SERVERS
from daemon.stores.tables.archives import ARCHIVES, HOLDS, REDACTIONS
from daemon.stores.tables.audit_source import AuditSource
from daemon.stores.tables.connectors import CONNECTOR_CHANGES, CONNECTORS, KEYS
from daemon.stores.tables.people.accounts import COMPANIES, PASSWORD_RESETS
from daemon.stores.tables.people.changes import CHANGES
from daemon.stores.tables.people.companies import DELEGATIONS
from daemon.stores.tables.people.credentials import API_KEYS, SECOND_FACTORS, SUBJECTS
from daemon.stores.tables.people.members import INVITATIONS, MEMBERS
from daemon.stores.tables.people.sessions import SESSIONS
from daemon.stores.tables.templates import OWN_TEMPLATES, TEMPLATES
from daemon.stores.tables.webhooks import WEBHOOKS
from daemon.verification.findings import AuditFinding, Counts
from daemon.verification.logs import UNKNOWN, Fold, Key, Values


@dataclass(frozen=True, slots=True)
class VerifiedTable:
    """A table whose rows follow from the logs, with its columns that hold a secret and JSON."""

    name: str
    kind: str
    key: tuple[str, ...]
    secret: str = ""
    json: tuple[str, ...] = ()

    @classmethod
    def from_table(cls, one: Table[Any], kind: str, secret: str = "", json: tuple[str, ...] = ()) -> VerifiedTable:
        return cls(one.name, kind, one.key, secret, (*one.json, *json))

    @classmethod
    def from_setting(cls, one: CompanySetting[Any]) -> VerifiedTable:
        return cls(one.table, one.column, ("company_id",), json=(one.column,))


TABLES = (
    VerifiedTable.from_table(COMPANIES, "company"),
    VerifiedTable("users", "user", ("company_id", "id"), "password_hash"),
    VerifiedTable.from_table(MEMBERS, "member"),
    VerifiedTable.from_table(INVITATIONS, "invitation"),
    VerifiedTable("member_groups", "group", ("company_id", "name")),
    VerifiedTable("group_members", "group_member", ("company_id", "group_name", "member_id")),
    VerifiedTable("addresses", "address", ("email_key",)),
    VerifiedTable.from_table(CONNECTORS, "connector", "sealed_secret", json=("connector",)),
    VerifiedTable.from_table(WEBHOOKS, "webhook", "sealed_secret", json=("events",)),
    VerifiedTable.from_table(API_KEYS, "api_key", "key_hash"),
    VerifiedTable.from_table(INSTANCES, "instance", "sealed_secret"),
    VerifiedTable.from_table(SERVERS, "mcp_server", "sealed_secret"),
    VerifiedTable.from_table(SERVER_CHANGES, "mcp_server_change"),
    VerifiedTable.from_table(KEYS, "company_key", "wrapped"),
    VerifiedTable.from_table(TEMPLATES, "template"),
    VerifiedTable.from_table(OWN_TEMPLATES, "own_template"),
    VerifiedTable.from_setting(POLICY),
    VerifiedTable.from_table(HOLDS, "hold"),
    VerifiedTable.from_table(REDACTIONS, "redaction", json=("pointers",)),
    VerifiedTable.from_table(ARCHIVES, "archive"),
    VerifiedTable.from_setting(AUTONOMY),
    VerifiedTable.from_setting(CALENDAR),
    VerifiedTable.from_setting(FUNCTIONS),
    VerifiedTable.from_setting(ACTION_RULES),
    VerifiedTable.from_setting(ACTION_PAUSES),
    VerifiedTable.from_table(CHANGES, "gated_change", "sealed_secret"),
    VerifiedTable.from_table(DELEGATIONS, "delegation"),
    VerifiedTable.from_table(SUBJECTS, "sso_subject"),
    VerifiedTable.from_table(SECOND_FACTORS, "second_factor", "sealed_secret"),
)
PASSING = (
    VerifiedTable("revocations", "revocation", ("token_id",)),
    VerifiedTable(SESSIONS.name, "session", ("id",)),
    VerifiedTable.from_table(PASSWORD_RESETS, "password_reset"),
)
"""Tables whose rows are deleted when they have expired."""


def compare_all(source: AuditSource, fold: Fold, now: str, counts: Counts) -> Iterator[AuditFinding]:
    for table in TABLES:
        if table.name in source.tables:
            yield from _table(source, table, fold, counts)
    for table in PASSING:
        yield from _passing(source, table, fold, now)
    yield from _documents(source)
    yield from _asked(source)
    yield from _changes(source, fold, counts)
    for company_id, webhook_id, delivery in source.deliveries_astray():
        where = f"webhook {webhook_id} of {company_id!r}, delivery {delivery}"
        yield AuditFinding("delivery", where, "it is of no event in the history of the company")


def _table(source: AuditSource, table: VerifiedTable, fold: Fold, counts: Counts) -> Iterator[AuditFinding]:
    """Compare the rows of a table; those that no log knows were inserted."""
    expected = dict(fold.rows[table.name])
    for row in source.table(table.name, source.tables[table.name]):
        counts["rows"] += 1
        key = tuple(row[name] for name in table.key)
        known = expected.pop(key, None)
        if known is not None:
            yield from _columns(table, key, row, known)
        elif fold.complete or table.name in ("connectors", "webhooks", "api_keys"):
            yield AuditFinding(table.kind, _where(table, key), "no log knows it: it was inserted")
    for key in expected:
        yield AuditFinding(table.kind, _where(table, key), "it is in the log and not in the database: it was deleted")


def _columns(table: VerifiedTable, key: Key, row: Mapping[str, Any], known: Values) -> Iterator[AuditFinding]:
    for name, value in known.items():
        if name in row and value is not UNKNOWN and _unequal(table, name, row[name], value):
            yield AuditFinding(table.kind, _where(table, key), f"{name} is not what the log says")


def _unequal(table: VerifiedTable, column: str, stored: Any, said: Any) -> bool:
    """Compare values: a log sorts the members of objects, a row keeps them as they were sent."""
    if column == table.secret and stored is not None:
        stored = chain.digest(stored.encode() if isinstance(stored, str) else stored)
    if stored == said or column not in table.json:
        return bool(stored != said)
    try:
        return canonical(json.loads(stored)) != canonical(json.loads(said))
    except (ValueError, TypeError, RecursionError):
        return True


def _where(table: VerifiedTable, key: Key) -> str:
    first, *names = [part.hex() if isinstance(part, bytes) else part for part in key]
    return f"{' '.join(map(str, names))} of {first!r}" if names else f"{table.kind} {first!r}"


def _passing(source: AuditSource, table: VerifiedTable, fold: Fold, now: str) -> Iterator[AuditFinding]:
    """Compare rows that are deleted when they have expired."""
    if table.name not in source.tables:
        return
    expected = dict(fold.rows[table.name])
    for row in source.table(table.name, source.tables[table.name]):
        key = tuple(row[name] for name in table.key)
        known = expected.pop(key, None)
        if known is None:
            yield AuditFinding(table.kind, _where(table, key), "no log knows it: it was inserted")
        else:
            yield from _columns(table, key, row, known)
    for key, known in expected.items():
        if known["expires_at"] is not UNKNOWN and known["expires_at"] > now:
            yield AuditFinding(
                table.kind, _where(table, key), "it is in the log and not in the database: it was deleted"
            )


def _documents(source: AuditSource) -> Iterator[AuditFinding]:
    """Compare the documents of templates with their digests."""
    columns = ("digest", "vertical", "version", "document")
    own = source.table("own_templates", columns) if "own_templates" in source.tables else ()
    of_rules = source.table(DOCUMENTS.name, columns[::3]) if DOCUMENTS.name in source.tables else ()
    for row in (*source.table("templates", columns), *own, *of_rules):
        try:
            value = json.loads(row["document"])
            fits = digest_of_document(value) == row["digest"] and canonical(value) == row["document"]
            fits = fits and all(value[name] == row[name] for name in ("vertical", "version") if name in row)
        except (ValueError, TypeError, KeyError, RecursionError):
            fits = False
        if not fits:
            yield AuditFinding("template", f"template {row['digest']!r}", "its document is not the one of its digest")


def _asked(source: AuditSource) -> Iterator[AuditFinding]:
    """Compare what changes would do with their digests, which the log has."""
    found = source.table(CHANGES.name, ("company_id", "id", "body", "digest")) if CHANGES.name in source.tables else ()
    for row in found:
        if chain.digest(row["body"].encode()) != row["digest"]:
            where = f"{row['id']} of {row['company_id']!r}"
            yield AuditFinding("gated_change", where, "its body is not the one of its digest")


def _changes(source: AuditSource, fold: Fold, counts: Counts) -> Iterator[AuditFinding]:
    changed = dict(fold.changes)
    for row in source.changes():
        counts["connector changes"] += 1
        known = changed.pop((row[0], row[1], row[2]), None)
        where = f"connector {row[1]} of {row[0]!r}, change {row[2]}"
        if known is None:
            yield AuditFinding("connector_change", where, "the company's log does not know it: it was inserted")
        elif _unlike(known, row):
            yield AuditFinding("connector_change", where, "it is not what the company's log says")
    for company_id, tool_id, number in changed:
        where = f"connector {tool_id} of {company_id!r}, change {number}"
        yield AuditFinding("connector_change", where, "it is in the company's log alone: it was deleted")


def _unlike(event: Any, row: Row) -> bool:
    try:
        change = replace(CONNECTOR_CHANGES.from_row(row), by_kind=event.by_kind, unchanged=event.unchanged)
        said = codec.connector_changed(change, event.secret_digest)
        return codec.encode_log(said) != codec.encode_log(event)
    except ValueError:
        return True
