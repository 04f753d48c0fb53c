-- What was begun for a run at a version, so that an evaluation under which a daemon ended is not repeated.
CREATE TABLE evaluations_begun (
    company_id  TEXT NOT NULL,
    run_id      TEXT NOT NULL,
    version     INTEGER NOT NULL,
    begun_by    INTEGER NOT NULL,
    PRIMARY KEY (company_id, run_id)
) STRICT, WITHOUT ROWID;
