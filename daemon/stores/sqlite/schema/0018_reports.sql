-- What reports count, kept from the commits in the background. `report_cursors` has the position up to which commits
-- are in it, in the row of the service's log; it moves in one transaction with the rows.
CREATE TABLE report_cursors (
    company_id  TEXT NOT NULL PRIMARY KEY,
    position    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The open visits of steps: `opened_at` where a gate is open, `tool_id` where a call is out.
CREATE TABLE report_visits (
    company_id  TEXT NOT NULL,
    run_id      TEXT NOT NULL,
    step_id     TEXT NOT NULL,
    visit       INTEGER NOT NULL,
    vertical    TEXT NOT NULL,
    tier        TEXT NOT NULL,
    label       TEXT NOT NULL,
    tool_id     TEXT,
    opened_at   TEXT,
    due_at      TEXT,
    PRIMARY KEY (company_id, run_id, step_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX report_visits_by_age ON report_visits (company_id, opened_at, run_id, step_id) WHERE opened_at IS NOT NULL;

-- One row for each verdict and each decision of a deadline; `closed` where the gate closed with it.
CREATE TABLE report_decisions (
    company_id    TEXT NOT NULL,
    decided_at    TEXT NOT NULL,
    run_id        TEXT NOT NULL,
    seq           INTEGER NOT NULL,
    vertical      TEXT NOT NULL,
    step_id       TEXT NOT NULL,
    visit         INTEGER NOT NULL,
    label         TEXT NOT NULL,
    tier          TEXT NOT NULL,
    decision      TEXT NOT NULL,
    decided_by    TEXT NOT NULL,
    by_kind       TEXT NOT NULL,
    on_behalf_of  TEXT,
    closed        INTEGER NOT NULL,
    opened_at     TEXT NOT NULL,
    waited_us     INTEGER NOT NULL,
    PRIMARY KEY (company_id, decided_at, run_id, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX report_decisions_by_age ON report_decisions (decided_at);

CREATE TABLE report_failures (
    company_id   TEXT NOT NULL,
    failed_at    TEXT NOT NULL,
    run_id       TEXT NOT NULL,
    seq          INTEGER NOT NULL,
    vertical     TEXT NOT NULL,
    step_id      TEXT NOT NULL,
    visit        INTEGER NOT NULL,
    tool_id      TEXT NOT NULL,
    code         TEXT NOT NULL,
    status_code  INTEGER,
    attempts     INTEGER NOT NULL,
    PRIMARY KEY (company_id, failed_at, run_id, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX report_failures_by_age ON report_failures (failed_at);

-- The steps that the autopilot cleared alone on a day of UTC, and the calls of a tool.
CREATE TABLE report_steps (
    company_id  TEXT NOT NULL,
    day         TEXT NOT NULL,
    vertical    TEXT NOT NULL,
    step_id     TEXT NOT NULL,
    cleared     INTEGER NOT NULL,
    PRIMARY KEY (company_id, day, vertical, step_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX report_steps_by_age ON report_steps (day);

CREATE TABLE report_calls (
    company_id  TEXT NOT NULL,
    day         TEXT NOT NULL,
    tool_id     TEXT NOT NULL,
    calls       INTEGER NOT NULL,
    failed      INTEGER NOT NULL,
    last_at     TEXT NOT NULL,
    last_error  TEXT,
    PRIMARY KEY (company_id, day, tool_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX report_calls_by_age ON report_calls (day);
