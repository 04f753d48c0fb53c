-- What each company has stored, and the position up to which all commits are counted, in the row of the service's log.
CREATE TABLE company_usage (
    company_id  TEXT NOT NULL PRIMARY KEY,
    runs        INTEGER NOT NULL,
    bytes       INTEGER NOT NULL,
    position    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
