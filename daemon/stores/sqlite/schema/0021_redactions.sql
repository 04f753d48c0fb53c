-- Values of runs that were redacted: who did it, when, and why. `pointers` is JSON.
CREATE TABLE run_redactions (
    company_id   TEXT NOT NULL,
    run_id       TEXT NOT NULL,
    number       INTEGER NOT NULL,
    reason       TEXT NOT NULL,
    redacted_at  TEXT NOT NULL,
    redacted_by  TEXT NOT NULL,
    pointers     TEXT NOT NULL,
    PRIMARY KEY (company_id, run_id, number)
) STRICT, WITHOUT ROWID;
