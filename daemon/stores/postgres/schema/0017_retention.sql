-- Runs that nobody may archive, and why.
CREATE TABLE run_holds (
    company_id  text COLLATE "C" NOT NULL,
    run_id      text COLLATE "C" NOT NULL,
    reason      text NOT NULL,
    held_at     text COLLATE "C" NOT NULL,
    held_by     text NOT NULL,
    PRIMARY KEY (company_id, run_id)
);

-- Runs whose events are in an archive; of their commits the hashes stay, and `events` is empty. `form` is JSON of what
-- else stays: that of the event in the company's log.
CREATE TABLE archived_runs (
    company_id   text COLLATE "C" NOT NULL,
    run_id       text COLLATE "C" NOT NULL,
    archived_at  text COLLATE "C" NOT NULL,
    form         text NOT NULL,
    PRIMARY KEY (company_id, run_id)
);
ALTER TABLE runs ADD COLUMN archived boolean NOT NULL DEFAULT false;

-- What may be archived; an archived run leaves it. No column of it changes during a run, so that updates stay cheap.
CREATE INDEX runs_to_archive ON runs (company_id, created_at, id)
    WHERE NOT archived AND status IN ('completed', 'failed', 'cancelled');

-- The daemon that archives the runs of a company.
CREATE TABLE archivers (
    company_id  text COLLATE "C" NOT NULL PRIMARY KEY,
    epoch       bigint NOT NULL
);
