-- What reports count, kept from the commits in the background. `report_cursors` has the position up to which commits
-- are in it, by company; it moves in one transaction with the rows.
CREATE TABLE report_cursors (
    company_id  text COLLATE "C" NOT NULL PRIMARY KEY,
    position    bigint NOT NULL
);

-- The open visits of steps: `opened_at` where a gate is open, `tool_id` where a call is out.
CREATE TABLE report_visits (
    company_id  text COLLATE "C" NOT NULL,
    run_id      text COLLATE "C" NOT NULL,
    step_id     text COLLATE "C" NOT NULL,
    visit       bigint NOT NULL,
    vertical    text COLLATE "C" NOT NULL,
    tier        text COLLATE "C" NOT NULL,
    label       text COLLATE "C" NOT NULL,
    tool_id     text COLLATE "C",
    opened_at   text COLLATE "C",
    due_at      text COLLATE "C",
    PRIMARY KEY (company_id, run_id, step_id)
);
CREATE INDEX report_visits_by_age ON report_visits (company_id, opened_at, run_id, step_id) WHERE opened_at IS NOT NULL;

-- One row for each verdict and each decision of a deadline; `closed` where the gate closed with it.
CREATE TABLE report_decisions (
    company_id    text COLLATE "C" NOT NULL,
    decided_at    text COLLATE "C" NOT NULL,
    run_id        text COLLATE "C" NOT NULL,
    seq           bigint NOT NULL,
    vertical      text COLLATE "C" NOT NULL,
    step_id       text COLLATE "C" NOT NULL,
    visit         bigint NOT NULL,
    label         text COLLATE "C" NOT NULL,
    tier          text COLLATE "C" NOT NULL,
    decision      text COLLATE "C" NOT NULL,
    decided_by    text COLLATE "C" NOT NULL,
    by_kind       text COLLATE "C" NOT NULL,
    on_behalf_of  text COLLATE "C",
    closed        bigint NOT NULL,
    opened_at     text COLLATE "C" NOT NULL,
    waited_us     bigint NOT NULL,
    PRIMARY KEY (company_id, decided_at, run_id, seq)
);
CREATE INDEX report_decisions_by_age ON report_decisions (decided_at);

CREATE TABLE report_failures (
    company_id   text COLLATE "C" NOT NULL,
    failed_at    text COLLATE "C" NOT NULL,
    run_id       text COLLATE "C" NOT NULL,
    seq          bigint NOT NULL,
    vertical     text COLLATE "C" NOT NULL,
    step_id      text COLLATE "C" NOT NULL,
    visit        bigint NOT NULL,
    tool_id      text COLLATE "C" NOT NULL,
    code         text COLLATE "C" NOT NULL,
    status_code  bigint,
    attempts     bigint NOT NULL,
    PRIMARY KEY (company_id, failed_at, run_id, seq)
);
CREATE INDEX report_failures_by_age ON report_failures (failed_at);

-- The steps that the autopilot cleared alone on a day of UTC, and the calls of a tool.
CREATE TABLE report_steps (
    company_id  text COLLATE "C" NOT NULL,
    day         text COLLATE "C" NOT NULL,
    vertical    text COLLATE "C" NOT NULL,
    step_id     text COLLATE "C" NOT NULL,
    cleared     bigint NOT NULL,
    PRIMARY KEY (company_id, day, vertical, step_id)
);
CREATE INDEX report_steps_by_age ON report_steps (day);

CREATE TABLE report_calls (
    company_id  text COLLATE "C" NOT NULL,
    day         text COLLATE "C" NOT NULL,
    tool_id     text COLLATE "C" NOT NULL,
    calls       bigint NOT NULL,
    failed      bigint NOT NULL,
    last_at     text COLLATE "C" NOT NULL,
    last_error  text COLLATE "C",
    PRIMARY KEY (company_id, day, tool_id)
);
CREATE INDEX report_calls_by_age ON report_calls (day);
