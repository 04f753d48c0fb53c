-- Values of runs that were redacted: who did it, when, and why. `pointers` is JSON.
CREATE TABLE run_redactions (
    company_id   text COLLATE "C" NOT NULL,
    run_id       text COLLATE "C" NOT NULL,
    number       bigint NOT NULL,
    reason       text NOT NULL,
    redacted_at  text COLLATE "C" NOT NULL,
    redacted_by  text NOT NULL,
    pointers     text NOT NULL,
    PRIMARY KEY (company_id, run_id, number)
);
