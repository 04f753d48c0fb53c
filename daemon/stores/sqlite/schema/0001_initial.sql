-- Times are UTC in ISO 8601 with microseconds: they sort as text. A key starts with the tenant where there is one.

CREATE TABLE companies (
    id          TEXT NOT NULL PRIMARY KEY,
    name        TEXT NOT NULL,
    created_at  TEXT NOT NULL
) STRICT;

CREATE TABLE users (
    company_id     TEXT NOT NULL REFERENCES companies (id),
    id             TEXT NOT NULL UNIQUE,
    email          TEXT NOT NULL,
    email_key      TEXT NOT NULL UNIQUE,
    name           TEXT,
    role           TEXT NOT NULL,
    password_hash  TEXT NOT NULL,
    created_at     TEXT NOT NULL,
    PRIMARY KEY (company_id, id)
) STRICT;

CREATE TABLE revocations (
    token_id    TEXT NOT NULL PRIMARY KEY,
    expires_at  TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE templates (
    digest    TEXT NOT NULL PRIMARY KEY,
    vertical  TEXT NOT NULL,
    version   INTEGER NOT NULL,
    document  TEXT NOT NULL,
    UNIQUE (vertical, version)
) STRICT;

CREATE TABLE connectors (
    company_id     TEXT NOT NULL,
    tool_id        TEXT NOT NULL,
    connector      BLOB NOT NULL,
    sealed_secret  BLOB,
    created_at     TEXT NOT NULL,
    updated_at     TEXT NOT NULL,
    updated_by     TEXT NOT NULL,
    PRIMARY KEY (company_id, tool_id)
) STRICT, WITHOUT ROWID;

-- Where each run stands. `parked` holds the steps at which it waits for a human, as '|signoff|legal|'.
CREATE TABLE runs (
    number      INTEGER PRIMARY KEY,
    company_id  TEXT NOT NULL,
    id          TEXT NOT NULL,
    version     INTEGER NOT NULL,
    resting     INTEGER NOT NULL,
    status      TEXT NOT NULL,
    vertical    TEXT NOT NULL,
    parked      TEXT NOT NULL,
    created_at  TEXT NOT NULL,
    updated_at  TEXT NOT NULL,
    UNIQUE (company_id, id)
) STRICT;
CREATE INDEX runs_by_status ON runs (company_id, status, id);
CREATE INDEX runs_unfinished ON runs (company_id, id) WHERE resting = 0;

-- The cache of a run's state, apart from `runs` so that a change of status does not write a large one again.
CREATE TABLE snapshots (
    run      INTEGER PRIMARY KEY REFERENCES runs (number),
    version  INTEGER NOT NULL,
    schema   INTEGER NOT NULL,
    body     BLOB NOT NULL
) STRICT;

-- The truth: what each turn made fact. The events from `first_seq` to `version`, a JSON array; in order of `position`.
CREATE TABLE commits (
    position    INTEGER PRIMARY KEY,
    company_id  TEXT NOT NULL,
    run_id      TEXT NOT NULL,
    version     INTEGER NOT NULL,
    first_seq   INTEGER NOT NULL,
    events      BLOB NOT NULL,
    UNIQUE (company_id, run_id, version)
) STRICT;

-- What was answered under which Idempotency-Key; `status` is NULL while nothing was.
CREATE TABLE receipts (
    company_id   TEXT NOT NULL,
    path         TEXT NOT NULL,
    key          TEXT NOT NULL,
    fingerprint  BLOB NOT NULL,
    run_id       TEXT,
    status       INTEGER,
    headers      TEXT NOT NULL,
    body         BLOB NOT NULL,
    created_at   TEXT NOT NULL,
    PRIMARY KEY (company_id, path, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX receipts_by_age ON receipts (created_at);
