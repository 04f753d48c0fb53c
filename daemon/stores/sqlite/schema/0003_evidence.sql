-- `head` is the hash of a commit's last event, chained to all before it; `events` are canonical JSON, one in each line.
-- `exact` has the same events where canonical JSON would lose whether a number is 1 or 1.0; else it is NULL.
-- Rows of the form before have no head yet: the start-up writes them anew, a bounded number at a time.
CREATE TABLE commits_with_heads (
    position    INTEGER PRIMARY KEY,
    company_id  TEXT NOT NULL,
    run_id      TEXT NOT NULL,
    version     INTEGER NOT NULL,
    first_seq   INTEGER NOT NULL,
    head        BLOB,
    exact       BLOB,
    events      BLOB NOT NULL,
    UNIQUE (company_id, run_id, version)
) STRICT;
INSERT INTO commits_with_heads
SELECT position, company_id, run_id, version, first_seq, NULL, NULL, events FROM commits;
DROP TABLE commits;
ALTER TABLE commits_with_heads RENAME TO commits;
CREATE INDEX commits_without_head ON commits (position) WHERE head IS NULL;

-- Those of another schema would be passed over for the events anyhow.
DROP TABLE snapshots;
CREATE TABLE snapshots (
    run       INTEGER PRIMARY KEY REFERENCES runs (number),
    version   INTEGER NOT NULL,
    schema    INTEGER NOT NULL,
    checksum  INTEGER NOT NULL,
    body      BLOB NOT NULL
) STRICT;

ALTER TABLE connector_changes ADD COLUMN via TEXT NOT NULL DEFAULT 'session';

-- The tree of each company (RFC 6962): one leaf for each commit of each of its streams, in order of `position`.
CREATE TABLE audit_leaves (
    company_id  TEXT NOT NULL,
    number      INTEGER NOT NULL,
    stream      TEXT NOT NULL,
    version     INTEGER NOT NULL,
    position    INTEGER NOT NULL UNIQUE,
    PRIMARY KEY (company_id, number)
) STRICT, WITHOUT ROWID;

-- Complete nodes only, so that none ever changes: node `number` of a level covers 2^level leaves.
CREATE TABLE audit_nodes (
    company_id  TEXT NOT NULL,
    level       INTEGER NOT NULL,
    number      INTEGER NOT NULL,
    hash        BLOB NOT NULL,
    PRIMARY KEY (company_id, level, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE audit_checkpoints (
    company_id  TEXT NOT NULL,
    size        INTEGER NOT NULL,
    at          TEXT NOT NULL,
    key_id      TEXT NOT NULL,
    previous    TEXT,
    root        TEXT NOT NULL,
    signature   TEXT NOT NULL,
    PRIMARY KEY (company_id, size)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER audit_leaves_stay BEFORE UPDATE ON audit_leaves
BEGIN
    SELECT RAISE(ABORT, 'a leaf is never changed');
END;
CREATE TRIGGER audit_leaves_remain BEFORE DELETE ON audit_leaves
BEGIN
    SELECT RAISE(ABORT, 'a leaf is never deleted');
END;
CREATE TRIGGER audit_nodes_stay BEFORE UPDATE ON audit_nodes
BEGIN
    SELECT RAISE(ABORT, 'a node is never changed');
END;
CREATE TRIGGER audit_nodes_remain BEFORE DELETE ON audit_nodes
BEGIN
    SELECT RAISE(ABORT, 'a node is never deleted');
END;
CREATE TRIGGER audit_checkpoints_stay BEFORE UPDATE ON audit_checkpoints
BEGIN
    SELECT RAISE(ABORT, 'a checkpoint is never changed');
END;
CREATE TRIGGER audit_checkpoints_remain BEFORE DELETE ON audit_checkpoints
BEGIN
    SELECT RAISE(ABORT, 'a checkpoint is never deleted');
END;
