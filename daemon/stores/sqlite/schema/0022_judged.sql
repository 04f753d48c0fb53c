-- What a panel that was for clearing said of an open visit: a JSON array.
ALTER TABLE report_visits ADD COLUMN heard TEXT;

-- The visits that were cleared on a panel's word, and those that people decided though their panel was for clearing;
-- `approved` is NULL for the former. They count for as long as they are among the newest of their step.
CREATE TABLE report_judged (
    company_id        TEXT NOT NULL,
    vertical          TEXT NOT NULL,
    step_id           TEXT NOT NULL,
    template_version  INTEGER NOT NULL,
    at                TEXT NOT NULL,
    run_id            TEXT NOT NULL,
    seq               INTEGER NOT NULL,
    visit             INTEGER NOT NULL,
    raw               REAL NOT NULL,
    why               TEXT NOT NULL,
    approved          INTEGER,
    PRIMARY KEY (company_id, vertical, step_id, template_version, at, run_id, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX report_judged_by_people ON report_judged (company_id, vertical, step_id, template_version, at, run_id, seq)
    WHERE approved IS NOT NULL;
