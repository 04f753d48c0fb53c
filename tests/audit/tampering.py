"""Single tamperings of a stored history, each drawn at random: what is changed, and what a finding
has to name.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable

from daemon.model import merkle
from daemon.model.chain import extended, genesis
from daemon.stores import codec
from daemon.verification.gaps import undetectable
from tests.audit import columns
from tests.audit.drawing import COMMITS, Rng, any_commit, edited, edited_line, flipped, rebuild, rechain, rows
from tests.audit.past import Past

Names = set[str]
ANYTHING: Names = {""}
"""The finding names what it takes to find it, be it the row or the leaf above it."""


# -------------------------------------------------------------------------------------- histories


def event_byte(db: sqlite3.Connection, rng: Rng, _: Past) -> Names:
    position, _, stream, *_, events = any_commit(db, rng)
    db.execute("UPDATE commits SET events = ? WHERE position = ?", (flipped(events, rng), position))
    return {stream or "''"}


def event_value(db: sqlite3.Connection, rng: Rng, _: Past) -> Names:
    position, company_id, stream, *_, events = any_commit(db, rng)
    db.execute("UPDATE commits SET events = ? WHERE position = ?", (edited_line(events, rng), position))
    if rng.random() < 0.7:
        rechain(db, company_id, stream)
    if rng.random() < 0.3:
        rebuild(db, company_id)
        return {company_id or "''", stream or "''"}
    return {stream or "''"}


def event_removed(db: sqlite3.Connection, rng: Rng, _: Past) -> Names:
    several = [row for row in rows(db, COMMITS) if b"\n" in row[-1]]
    position, company_id, stream, *_, events = rng.choice(several)
    lines = events.split(b"\n")
    del lines[rng.randrange(len(lines))]
    db.execute("UPDATE commits SET events = ? WHERE position = ?", (b"\n".join(lines), position))
    if rng.random() < 0.5:
        rechain(db, company_id, stream)
    return {stream}


def exact_form(db: sqlite3.Connection, rng: Rng, _: Past) -> Names:
    position, _, stream, *_, events = any_commit(db, rng)
    db.execute("UPDATE commits SET exact = ? WHERE position = ?", (edited_line(events, rng), position))
    return {stream or "''"}


def head_edited(db: sqlite3.Connection, rng: Rng, _: Past) -> Names:
    position, _, stream, _, _, head, _ = any_commit(db, rng)
    changed = rng.choice([flipped(head, rng), None, b""])
    db.execute("UPDATE commits SET head = ? WHERE position = ?", (changed, position))
    return {stream or "''"}


def forked(db: sqlite3.Connection, rng: Rng, past: Past) -> Names:
    """A commit that the service made stands on another history than the commits behind it do."""
    behind = (
        "later.company_id = commits.company_id AND later.run_id = commits.run_id AND later.version > commits.version"
    )
    middle = (
        f"{COMMITS} WHERE length(events) > 0 AND run_id NOT IN (company_id, '') "
        f"AND EXISTS (SELECT 1 FROM commits AS later WHERE {behind})"
    )
    position, company_id, stream, version, first_seq, _, events = rng.choice(rows(db, middle))
    before = rows(
        db,
        "SELECT head FROM commits WHERE company_id = ? AND run_id = ? AND version = ?",
        *(company_id, stream, first_seq - 1),
    )
    changed = events.replace(b'"at":"20', b'"at":"21', 1)
    head = extended(before[0][0] if before else genesis(company_id, stream), changed.split(b"\n"))
    mac = past.commit_keys.mac((company_id, stream), version, first_seq, head)
    db.execute(
        "UPDATE commits SET events = ?, exact = NULL, head = ?, mac = ? WHERE position = ?",
        (changed, head, mac, position),
    )
    if rng.random() < 0.5:
        rebuild(db, company_id)
        return {company_id, stream}
    return {stream}


def commit_deleted(db: sqlite3.Connection, rng: Rng, _: Past) -> Names:
    position, company_id, stream, *_ = any_commit(db, rng)
    db.execute("DELETE FROM commits WHERE position = ?", (position,))
    if rng.random() < 0.5:
        rechain(db, company_id, stream)
    return {stream or "''"}


def commit_inserted(db: sqlite3.Connection, rng: Rng, _: Past) -> Names:
    _, company_id, stream, _, _, _, events = any_commit(db, rng)
    last = rows(db, "SELECT max(version) FROM commits WHERE company_id = ? AND run_id = ?", company_id, stream)[0][0]
    # Behind the end of a log it would be an event like any that no checkpoint covers yet.
    count, behind = events.count(b"\n") + 1, rng.random() < 0.5 and company_id not in (stream, "")
    place = "(SELECT max(position) + 1 FROM commits)" if behind else "-1"
    db.execute(
        f"INSERT INTO commits VALUES ({place}, ?, ?, ?, ?, x'00', NULL, ?, x'00')",
        (company_id, stream, last + count, last + 1, events),
    )
    rechain(db, company_id, stream)
    return {stream or "''"}


def commits_swapped(db: sqlite3.Connection, rng: Rng, _: Past) -> Names:
    one, other = rng.sample(rows(db, COMMITS), 2)
    for target, source in ((one, other), (other, one)):
        db.execute("UPDATE commits SET head = ?, events = ? WHERE position = ?", (source[5], source[6], target[0]))
    return {one[2] or "''", other[2] or "''"}


def positions_swapped(db: sqlite3.Connection, rng: Rng, _: Past) -> Names:
    one, other = rng.sample(rows(db, COMMITS), 2)
    for before, after in ((one[0], -1), (other[0], one[0]), (-1, other[0])):
        db.execute("UPDATE commits SET position = ? WHERE position = ?", (after, before))
    return {one[2] or "''", other[2] or "''"}


def tail_cut(db: sqlite3.Connection, rng: Rng, _: Past) -> Names:
    """The last commit of a run goes, and all that stands beside it is put right."""
    several = rows(db, "SELECT company_id, run_id FROM commits GROUP BY company_id, run_id HAVING count(*) > 1")
    company_id, stream = rng.choice(several)
    key = (company_id, stream)
    where = "company_id = ? AND run_id = ?"
    db.execute(
        f"DELETE FROM commits WHERE {where} AND version = (SELECT max(version) FROM commits WHERE {where})", key * 2
    )
    events = rows(db, f"SELECT events, exact FROM commits WHERE {where} ORDER BY version", *key)
    archived = any(not row[0] for row in events)
    if company_id not in (stream, "") and not archived and rng.random() < 0.7:
        run = codec.fold(event for row in events for event in codec.decode_events(*row))
        parked = "".join(f"|{visit.step_id}" for visit in run.parked)
        row = (run.version, run.resting, run.status, f"{parked}|" if parked else "", *key)
        db.execute(
            "UPDATE runs SET version = ?, resting = ?, status = ?, parked = ? WHERE company_id = ? AND id = ?", row
        )
        number = "(SELECT number FROM runs WHERE company_id = ? AND id = ?)"
        db.execute(f"DELETE FROM snapshots WHERE run = {number}", key)
    return {stream}


def run_deleted(db: sqlite3.Connection, rng: Rng, _: Past) -> Names:
    number, company_id, run_id = rng.choice(rows(db, "SELECT number, company_id, id FROM runs"))
    db.execute("DELETE FROM snapshots WHERE run = ?", (number,))
    if rng.random() < 0.7:
        db.execute("DELETE FROM commits WHERE company_id = ? AND run_id = ?", (company_id, run_id))
    db.execute("DELETE FROM runs WHERE number = ?", (number,))
    return {run_id}


def run_moved(db: sqlite3.Connection, rng: Rng, past: Past) -> Names:
    number, company_id, run_id = rng.choice(rows(db, "SELECT number, company_id, id FROM runs"))
    to = next(other for other in past.kept if other != company_id)
    db.execute("UPDATE runs SET company_id = ? WHERE number = ?", (to, number))
    db.execute("UPDATE commits SET company_id = ? WHERE company_id = ? AND run_id = ?", (to, company_id, run_id))
    if rng.random() < 0.5:
        rechain(db, to, run_id)
    return {run_id}


def commit_moved(db: sqlite3.Connection, rng: Rng, past: Past) -> Names:
    position, company_id, stream, *_ = any_commit(db, rng)
    others = [row for row in rows(db, COMMITS) if (row[1], row[2]) != (company_id, stream)]
    _, to, where, version, *_ = rng.choice(others)
    if rng.random() < 0.5:
        to, where = next(other for other in past.kept if other != company_id), stream
    found = rows(db, "SELECT max(version) FROM commits WHERE company_id = ? AND run_id = ?", to, where)[0][0]
    version = (found or 0) + 1
    db.execute(
        "UPDATE commits SET company_id = ?, run_id = ?, version = ?, first_seq = ? WHERE position = ?",
        (to, where, version, version, position),
    )
    return {stream or "''", where or "''"}


# --------------------------------------------------------------------------- leaves, nodes, roots


def leaf_edited(db: sqlite3.Connection, rng: Rng, past: Past) -> Names:
    company_id, number, stream, version, _ = rng.choice(rows(db, "SELECT * FROM audit_leaves"))
    column, value = rng.choice(
        [
            ("stream", stream + "x"),
            ("version", version + 1),
            ("number", 10_000),
            ("position", 10_000),
            ("company_id", "x"),
        ]
    )
    where = "WHERE company_id = ? AND number = ?"
    if rng.random() < 0.3:
        db.execute(f"DELETE FROM audit_leaves {where}", (company_id, number))
    else:
        db.execute(f"UPDATE audit_leaves SET {column} = ? {where}", (value, company_id, number))
    return {company_id or "''", stream or "''"}


def leaves_swapped(db: sqlite3.Connection, rng: Rng, past: Past) -> Names:
    company_id = rng.choice(sorted(past.kept))
    found = rows(db, "SELECT number, stream, version, position FROM audit_leaves WHERE company_id = ?", company_id)
    one, other = rng.sample(found, 2)
    update = "UPDATE audit_leaves SET stream = ?, version = ?, position = ? WHERE company_id = ? AND number = ?"
    db.execute(update, ("", 0, -1, company_id, one[0]))
    db.execute(update, (*one[1:], company_id, other[0]))
    db.execute(update, (*other[1:], company_id, one[0]))
    return {one[1], other[1]}


def node_edited(db: sqlite3.Connection, rng: Rng, _: Past) -> Names:
    company_id, level, number, digest = rng.choice(rows(db, "SELECT * FROM audit_nodes"))
    place, where = (company_id, level, number), "WHERE company_id = ? AND level = ? AND number = ?"
    match rng.randrange(3):
        case 0:
            db.execute(f"DELETE FROM audit_nodes {where}", place)
        case 1:
            db.execute("INSERT INTO audit_nodes VALUES (?, ?, ?, ?)", (company_id, level, 10_000 + number, digest))
        case _:
            db.execute(f"UPDATE audit_nodes SET hash = ? {where}", (flipped(digest, rng), *place))
    return {company_id or "''"}


def checkpoint_edited(db: sqlite3.Connection, rng: Rng, _: Past) -> Names:
    names = ("company_id", "size", "at", "key_id", "previous", "root", "signature")
    row = rng.choice(rows(db, "SELECT * FROM audit_checkpoints"))
    company_id, size, *_ = row
    where = "WHERE company_id = ? AND size = ?"
    match rng.randrange(4):
        case 0:
            db.execute(f"DELETE FROM audit_checkpoints {where}", (company_id, size))
        case 1:
            copy = (company_id, 10_000 + size, *row[2:])
            db.execute("INSERT INTO audit_checkpoints VALUES (?, ?, ?, ?, ?, ?, ?)", copy)
        case _:
            place = rng.randrange(len(names))
            value = edited(row[place], rng) + 5_000 if names[place] == "size" else edited(row[place], rng)
            db.execute(f"UPDATE audit_checkpoints SET {names[place]} = ? {where}", (value, company_id, size))
    return {company_id or "''"}


def signature_swapped(db: sqlite3.Connection, rng: Rng, _: Past) -> Names:
    one, other = rng.sample(rows(db, "SELECT company_id, size, signature FROM audit_checkpoints"), 2)
    db.execute(
        "UPDATE audit_checkpoints SET signature = ? WHERE company_id = ? AND size = ?", (other[2], one[0], one[1])
    )
    return {one[0] or "''"}


# ---------------------------------------------------------------------- what is derived from them


def run_edited(db: sqlite3.Connection, rng: Rng, _: Past) -> Names:
    names = ("version", "resting", "status", "parked", "updated_at", "vertical", "created_at")
    number, run_id, *values = rng.choice(rows(db, f"SELECT number, id, {', '.join(names)} FROM runs"))
    place = rng.randrange(len(names))
    value = 1 - values[1] if place == 1 else edited(values[place], rng)
    db.execute(f"UPDATE runs SET {names[place]} = ? WHERE number = ?", (value, number))
    return {run_id}


def snapshot_edited(db: sqlite3.Connection, rng: Rng, _: Past) -> Names:
    found = rows(db, "SELECT run, id, snapshots.version, schema, mac, body FROM snapshots JOIN runs ON run = number")
    number, run_id, version, schema, mac, body = rng.choice(found)
    match rng.randrange(5):
        case 0:
            body = flipped(body, rng)
        case 1:
            value = json.loads(body)
            value["created_by"] = "mallory"
            body = json.dumps(value).encode()
        case 2:
            version += 1
        case 3:
            schema += 1
        case _:
            mac = flipped(mac, rng)
    row = (version, schema, mac, body, number)
    db.execute("UPDATE snapshots SET version = ?, schema = ?, mac = ?, body = ? WHERE run = ?", row)
    return {run_id}


def change_edited(db: sqlite3.Connection, rng: Rng, _: Past) -> Names:
    company_id, tool_id, number, version, by = rng.choice(
        rows(db, "SELECT company_id, tool_id, number, version, by FROM connector_changes")
    )
    where, key = "WHERE company_id = ? AND tool_id = ? AND number = ?", (company_id, tool_id, number)
    match rng.randrange(6):
        case 0:
            db.execute(f"DELETE FROM connector_changes {where}", key)
        case 1:
            db.execute(f"UPDATE connector_changes SET number = number + 7 {where}", key)
        case 2:
            db.execute(f"UPDATE connector_changes SET version = ? {where}", (version + 1, *key))
        case 3:
            db.execute(f"UPDATE connector_changes SET before = after, after = before {where}", key)
        case 4:
            db.execute(f"UPDATE connector_changes SET via = 'api' {where}", key)
        case _:
            db.execute(f"UPDATE connector_changes SET by = ? {where}", (by + "x", *key))
    return {tool_id}


def connector_edited(db: sqlite3.Connection, rng: Rng, _: Past) -> Names:
    company_id, tool_id, body = rng.choice(rows(db, "SELECT company_id, tool_id, connector FROM connectors"))
    where, key = "WHERE company_id = ? AND tool_id = ?", (company_id, tool_id)
    if rng.random() < 0.3:
        db.execute(f"DELETE FROM connectors {where}", key)
    else:
        changed = body.replace(b"api.test", b"evil.test")
        db.execute(f"UPDATE connectors SET connector = ? {where}", (changed, *key))
    return {tool_id}


def column_changed(db: sqlite3.Connection, rng: Rng, _: Past) -> Names:
    """Any column of any table that is compared."""
    filled = _filled(db)
    places = [place for place in _places(db) if place[0] in filled and place[1] not in undetectable(place[0])]
    while True:
        try:
            table, column = rng.choice(places)
            columns.change(columns.TamperedSqlite(db), table, column, rng.random() < 0.5)
        except sqlite3.IntegrityError:  # a constraint leaves it one value
            continue
        return ANYTHING


def _filled(db: sqlite3.Connection) -> set[str]:
    """The tables that have a row."""
    tables = {table for table, _ in _places(db)}
    return {table for table in tables if db.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone()}


def row_deleted(db: sqlite3.Connection, rng: Rng, _: Past) -> Names:
    tables = sorted(table for table in _filled(db) if "deleted" not in undetectable(table))
    columns.delete(columns.TamperedSqlite(db), rng.choice(tables))
    return ANYTHING


def row_inserted(db: sqlite3.Connection, rng: Rng, _: Past) -> Names:
    tables = {table for table in _filled(db) if "inserted" not in undetectable(table)} - {"audit_sealed"}
    columns.insert(columns.TamperedSqlite(db), rng.choice(sorted(tables)))
    return ANYTHING


def rows_swapped(db: sqlite3.Connection, rng: Rng, _: Past) -> Names:
    tables = sorted({table for table, _ in _places(db)})
    while not columns.swap(columns.TamperedSqlite(db), (table := rng.choice(tables)), undetectable(table)):
        pass
    return ANYTHING


def company_deleted(db: sqlite3.Connection, rng: Rng, past: Past) -> Names:
    """All that there is of a company goes."""
    company_id = rng.choice(sorted(past.kept))
    run = "SELECT number FROM runs WHERE company_id = ?"
    db.execute(f"DELETE FROM snapshots WHERE run IN ({run})", (company_id,))
    for table in sorted({table for table, column in _places(db) if column == "company_id"}):
        db.execute(f"DELETE FROM {table} WHERE company_id = ?", (company_id,))
    db.execute("DELETE FROM companies WHERE id = ?", (company_id,))
    return {company_id}


def _places(db: sqlite3.Connection) -> list[tuple[str, str]]:
    tables = rows(db, "SELECT name FROM pragma_table_list WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    return [(name, one.name) for (name,) in tables for one in columns.TamperedSqlite(db).about(name)]


TAMPERINGS: tuple[Callable[[sqlite3.Connection, Rng, Past], Names], ...] = (
    event_byte,
    event_value,
    event_removed,
    exact_form,
    head_edited,
    forked,
    commit_deleted,
    commit_inserted,
    commits_swapped,
    positions_swapped,
    tail_cut,
    run_deleted,
    run_moved,
    commit_moved,
    leaf_edited,
    leaves_swapped,
    node_edited,
    checkpoint_edited,
    signature_swapped,
    run_edited,
    snapshot_edited,
    change_edited,
    connector_edited,
    column_changed,
    row_deleted,
    row_inserted,
    rows_swapped,
    company_deleted,
)


def rewritten_with_the_key(db: sqlite3.Connection, rng: Rng, past: Past) -> Names:
    """Everything is put right, signatures too: only a checkpoint that was kept elsewhere tells."""
    company_id = rng.choice(sorted(past.kept))
    position, _, stream, *_, events = rng.choice([row for row in rows(db, COMMITS) if row[1] == company_id])
    changed = edited_line(events, rng)
    db.execute("UPDATE commits SET events = ?, exact = NULL WHERE position = ?", (changed, position))
    rechain(db, company_id, stream)
    tree = rebuild(db, company_id)
    sizes = rows(db, "SELECT size FROM audit_checkpoints WHERE company_id = ? ORDER BY size", company_id)
    previous = None
    for (size,) in sizes:
        one = past.signer.sign(company_id, size, merkle.root(size, tree.node), previous)
        db.execute(
            "UPDATE audit_checkpoints SET at = ?, key_id = ?, previous = ?, root = ?, signature = ? "
            "WHERE company_id = ? AND size = ?",
            (one.at, one.key_id, one.previous, one.root, one.signature, company_id, size),
        )
        previous = one.root
    return {company_id, stream}  # whose event may be damaged so that it is found by itself
