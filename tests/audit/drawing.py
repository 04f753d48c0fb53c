"""What tamperings are made of: places and values drawn at random and changed, chains and trees put
right again.
"""

from __future__ import annotations

import json
import random
import sqlite3
from typing import Any

from actors.core.canonical import canonical
from daemon.model.chain import extended, genesis
from daemon.model.evidence import TreeBuilder, leaf

Rng = random.Random
COMMITS = "SELECT position, company_id, run_id, version, first_seq, head, events FROM commits"


def rows(db: sqlite3.Connection, statement: str, *values: Any) -> list[Any]:
    return db.execute(statement, values).fetchall()


def any_commit(db: sqlite3.Connection, rng: Rng) -> Any:
    return rng.choice(rows(db, COMMITS))


def flipped(data: bytes, rng: Rng) -> bytes:
    """Data with one bit changed; of none, as that of an archived run is, some."""
    if not data:
        return b"x"
    place = rng.randrange(len(data))
    return data[:place] + bytes([data[place] ^ (1 << rng.randrange(8))]) + data[place + 1 :]


def edited(value: Any, rng: Rng) -> Any:
    """A JSON value with one of its leaves changed."""
    match value:
        case dict() if value:
            name = rng.choice(sorted(value))
            return {**value, name: edited(value[name], rng)}
        case list() if value:
            place = rng.randrange(len(value))
            return [*value[:place], edited(value[place], rng), *value[place + 1 :]]
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str():
            return value + "x"
        case _:
            return "x"


def edited_line(events: bytes, rng: Rng) -> bytes:
    """The events of a commit with a value changed; those of an archived run are gone."""
    if not events:
        return b"{}"
    lines = events.split(b"\n")
    place = rng.randrange(len(lines))
    lines[place] = canonical(edited(json.loads(lines[place]), rng)).encode()
    return b"\n".join(lines)


def rechain(db: sqlite3.Connection, company_id: str, stream: str) -> None:
    """Make the heads of a stream fit its events, up to a line of no form that a chain covers."""
    head = genesis(company_id, stream)
    found = rows(
        db,
        "SELECT position, events FROM commits WHERE company_id = ? AND run_id = ? ORDER BY version",
        company_id,
        stream,
    )
    for position, events in found:
        try:
            head = extended(head, events.split(b"\n"))
        except (ValueError, KeyError):
            return
        db.execute("UPDATE commits SET head = ? WHERE position = ?", (head, position))


def rebuild(db: sqlite3.Connection, company_id: str) -> TreeBuilder:
    """Make the tree of a company fit its commits."""
    db.execute("DELETE FROM audit_nodes WHERE company_id = ?", (company_id,))
    tree = TreeBuilder(company_id, 0, None, lambda *_: b"")
    for stream, version, head in rows(
        db,
        "SELECT run_id, commits.version, head FROM audit_leaves JOIN commits USING (position) "
        "WHERE audit_leaves.company_id = ? ORDER BY number",
        company_id,
    ):
        tree.append(leaf(stream, version, head))
    made = [(company_id, *place, digest) for place, digest in tree.made.items()]
    db.executemany("INSERT INTO audit_nodes VALUES (?, ?, ?, ?)", made)
    return tree
