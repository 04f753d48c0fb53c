-- The gates that wait for a human, in the order of their urgency: what is due first, then the higher risk, then the older.
-- Rows are written with the commits of their runs. `words` is what people search by.
CREATE TABLE open_gates (
    number      INTEGER PRIMARY KEY AUTOINCREMENT,
    company_id  TEXT NOT NULL,
    run_id      TEXT NOT NULL,
    step_id     TEXT NOT NULL,
    visit       INTEGER NOT NULL,
    vertical    TEXT NOT NULL,
    tier        TEXT NOT NULL,
    place       TEXT NOT NULL,
    words       TEXT NOT NULL,
    UNIQUE (company_id, run_id, step_id)
) STRICT;
CREATE INDEX open_gates_by_urgency ON open_gates (company_id, place);

-- The search index. Rows are added when somebody searches, so that commits do not pay for it; those
-- of closed gates, whose numbers never come again, are deleted from time to time.
CREATE VIRTUAL TABLE gate_words USING fts5(words, detail='none');

-- Who looks at an open gate; it counts for that visit, and binds nobody.
CREATE TABLE gate_claims (
    company_id  TEXT NOT NULL,
    run_id      TEXT NOT NULL,
    step_id     TEXT NOT NULL,
    visit       INTEGER NOT NULL,
    claimed_by  TEXT NOT NULL,
    claimed_at  TEXT NOT NULL,
    PRIMARY KEY (company_id, run_id, step_id)
) STRICT, WITHOUT ROWID;

-- What callers know a run by. `business_keys` holds the run that a unique key is given to.
ALTER TABLE runs ADD COLUMN business_key TEXT;
CREATE INDEX runs_by_business_key ON runs (company_id, business_key, id) WHERE business_key IS NOT NULL;
CREATE TABLE business_keys (
    company_id   TEXT NOT NULL,
    vertical     TEXT NOT NULL,
    key          TEXT NOT NULL,
    run_id       TEXT NOT NULL,
    reserved_at  TEXT NOT NULL,
    PRIMARY KEY (company_id, vertical, key)
) STRICT, WITHOUT ROWID;
