-- What was begun for a run at a version, so that an evaluation under which a daemon ended is not repeated.
CREATE TABLE evaluations_begun (
    company_id  text COLLATE "C" NOT NULL,
    run_id      text COLLATE "C" NOT NULL,
    version     bigint NOT NULL,
    begun_by    bigint NOT NULL,
    PRIMARY KEY (company_id, run_id)
);
