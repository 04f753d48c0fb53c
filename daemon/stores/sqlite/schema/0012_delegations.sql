-- The business days of a company, as canonical JSON; `number` counts the changes.
CREATE TABLE calendars (
    company_id  TEXT NOT NULL PRIMARY KEY,
    calendar    TEXT NOT NULL,
    number      INTEGER NOT NULL,
    updated_at  TEXT NOT NULL,
    updated_by  TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Who may decide as another member for a time; both are ids of members, `verticals` is a JSON array, empty for all.
-- `ended_at` is when one was ended before its time. An ended one stays, since the log names it.
CREATE TABLE delegations (
    company_id  TEXT NOT NULL,
    id          TEXT NOT NULL UNIQUE,
    giver       TEXT NOT NULL,
    recipient   TEXT NOT NULL,
    begins_at   TEXT NOT NULL,
    ends_at     TEXT NOT NULL,
    verticals   TEXT NOT NULL,
    created_at  TEXT NOT NULL,
    ended_at    TEXT,
    PRIMARY KEY (company_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX delegations_by_end ON delegations (company_id, ends_at) WHERE ended_at IS NULL;
