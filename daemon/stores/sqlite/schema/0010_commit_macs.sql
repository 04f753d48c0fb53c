-- The MAC of a commit, by a key that is never in here. Commits from before it are given theirs at the first start.
ALTER TABLE commits ADD COLUMN mac BLOB;
CREATE INDEX commits_without_mac ON commits (position) WHERE mac IS NULL;

-- A snapshot without its MAC would be passed over for the events anyhow.
DROP TABLE snapshots;
CREATE TABLE snapshots (
    run      INTEGER PRIMARY KEY REFERENCES runs (number),
    version  INTEGER NOT NULL,
    schema   INTEGER NOT NULL,
    mac      BLOB NOT NULL,
    body     BLOB NOT NULL
) STRICT;

-- Companies whose sealing stopped before a commit that the service did not write.
CREATE TABLE audit_stopped (
    company_id  TEXT NOT NULL PRIMARY KEY,
    position    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
