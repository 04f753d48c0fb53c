-- The data key of each company, wrapped by the key-encryption key of that id, which is never in here.
CREATE TABLE company_keys (
    company_id  TEXT NOT NULL PRIMARY KEY,
    key_id      TEXT NOT NULL,
    wrapped     BLOB NOT NULL,
    created_at  TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Who changed which connector, when, from what, to what; of its secret only what became of it. Rows are added, never changed.
CREATE TABLE connector_changes (
    company_id  TEXT NOT NULL,
    tool_id     TEXT NOT NULL,
    number      INTEGER NOT NULL,
    version     INTEGER NOT NULL,
    at          TEXT NOT NULL,
    by          TEXT NOT NULL,
    secret      TEXT NOT NULL,
    before      BLOB NOT NULL,
    after       BLOB NOT NULL,
    PRIMARY KEY (company_id, tool_id, number)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER connector_changes_stay BEFORE UPDATE ON connector_changes
BEGIN
    SELECT RAISE(ABORT, 'a change of a connector is never changed');
END;
CREATE TRIGGER connector_changes_remain BEFORE DELETE ON connector_changes
BEGIN
    SELECT RAISE(ABORT, 'a change of a connector is never deleted');
END;
