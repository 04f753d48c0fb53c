-- Runs that nobody may archive, and why.
CREATE TABLE run_holds (
    company_id  TEXT NOT NULL,
    run_id      TEXT NOT NULL,
    reason      TEXT NOT NULL,
    held_at     TEXT NOT NULL,
    held_by     TEXT NOT NULL,
    PRIMARY KEY (company_id, run_id)
) STRICT, WITHOUT ROWID;

-- Runs whose events are in an archive; of their commits the hashes stay, and `events` is empty. `form` is JSON of what
-- else stays: that of the event in the company's log.
CREATE TABLE archived_runs (
    company_id   TEXT NOT NULL,
    run_id       TEXT NOT NULL,
    archived_at  TEXT NOT NULL,
    form         TEXT NOT NULL,
    PRIMARY KEY (company_id, run_id)
) STRICT, WITHOUT ROWID;
ALTER TABLE runs ADD COLUMN archived INTEGER NOT NULL DEFAULT 0;

-- What may be archived; an archived run leaves it, so that a look costs what there is to do.
CREATE INDEX runs_to_archive ON runs (company_id, created_at, id)
    WHERE archived = 0 AND status IN ('completed', 'failed', 'cancelled');
