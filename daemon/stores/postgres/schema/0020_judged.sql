-- What a panel that was for clearing said of an open visit: a JSON array.
ALTER TABLE report_visits ADD COLUMN heard text;

-- The visits that were cleared on a panel's word, and those that people decided though their panel was for clearing;
-- `approved` is NULL for the former. They count for as long as they are among the newest of their step.
CREATE TABLE report_judged (
    company_id        text COLLATE "C" NOT NULL,
    vertical          text COLLATE "C" NOT NULL,
    step_id           text COLLATE "C" NOT NULL,
    template_version  bigint NOT NULL,
    at                text COLLATE "C" NOT NULL,
    run_id            text COLLATE "C" NOT NULL,
    seq               bigint NOT NULL,
    visit             bigint NOT NULL,
    raw               double precision NOT NULL,
    why               text COLLATE "C" NOT NULL,
    approved          bigint,
    PRIMARY KEY (company_id, vertical, step_id, template_version, at, run_id, seq)
);
CREATE INDEX report_judged_by_people ON report_judged (company_id, vertical, step_id, template_version, at, run_id, seq)
    WHERE approved IS NOT NULL;
