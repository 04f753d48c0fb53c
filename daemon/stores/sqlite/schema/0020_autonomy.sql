-- What a company lets be cleared without a human, as canonical JSON; `number` counts the changes.
CREATE TABLE autonomies (
    company_id  TEXT NOT NULL PRIMARY KEY,
    autonomy    TEXT NOT NULL,
    number      INTEGER NOT NULL,
    updated_at  TEXT NOT NULL,
    updated_by  TEXT NOT NULL
) STRICT, WITHOUT ROWID;
