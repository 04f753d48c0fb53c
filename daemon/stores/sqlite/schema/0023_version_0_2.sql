-- What was begun for a run at a version, so that an evaluation under which a daemon ended is not repeated.
CREATE TABLE evaluations_begun (
    company_id  TEXT NOT NULL,
    run_id      TEXT NOT NULL,
    version     INTEGER NOT NULL,
    begun_by    INTEGER NOT NULL,
    PRIMARY KEY (company_id, run_id)
) STRICT, WITHOUT ROWID;

-- Runs by vertical; partial, so that it serves those alone who ask for one, and say so.
CREATE INDEX runs_by_vertical ON runs (company_id, vertical, id) WHERE vertical <> '';

-- When the first of a run's clocks is due; NULL without one that goes. The index is in the order of the list.
ALTER TABLE runs ADD COLUMN clock_due_at TEXT;
CREATE INDEX runs_by_clock ON runs (company_id, id, clock_due_at) WHERE clock_due_at IS NOT NULL;

-- The clocks of runs as reports count them: those that go, and those that have stopped.
CREATE TABLE report_clocks (
    company_id  TEXT NOT NULL,
    run_id      TEXT NOT NULL,
    clock       TEXT NOT NULL,
    vertical    TEXT NOT NULL,
    label       TEXT NOT NULL,
    started_at  TEXT,
    due_at      TEXT,
    breached_at TEXT,
    stopped_at  TEXT,
    stopped_by  TEXT,
    left_us     INTEGER,
    PRIMARY KEY (company_id, run_id, clock)
) STRICT, WITHOUT ROWID;
CREATE INDEX report_clocks_open ON report_clocks (company_id, due_at) WHERE stopped_at IS NULL;
CREATE INDEX report_clocks_stopped ON report_clocks (company_id, stopped_at) WHERE stopped_at IS NOT NULL;

-- What proved a session, separated by blanks, and the session of the provider; those of before have none. The session in
-- which a second factor was confirmed has proven it.
ALTER TABLE sessions ADD COLUMN amr TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN provider_sid TEXT NOT NULL DEFAULT '';
ALTER TABLE second_factors ADD COLUMN session_id TEXT NOT NULL DEFAULT '';
CREATE INDEX sessions_by_provider ON sessions (provider_sid) WHERE provider_sid <> '';
CREATE INDEX sso_subjects_by_user ON sso_subjects (user_id);

-- Whether a key may say for whom it starts a run.
ALTER TABLE api_keys ADD COLUMN acts_for INTEGER NOT NULL DEFAULT 0;

-- Who fills the functions of a company, as canonical JSON; `number` counts the changes.
CREATE TABLE function_bindings (
    company_id  TEXT NOT NULL PRIMARY KEY,
    bindings    TEXT NOT NULL,
    number      INTEGER NOT NULL,
    updated_at  TEXT NOT NULL,
    updated_by  TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What was asked for behind the gate of a company: `body` is the canonical JSON that the digest is of, `stands_on` the number
-- that it follows on, and a secret is sealed. One that expired stays open.
CREATE TABLE gated_changes (
    company_id    TEXT NOT NULL,
    id            TEXT NOT NULL,
    act           TEXT NOT NULL,
    what          TEXT NOT NULL,
    digest        TEXT NOT NULL,
    body          TEXT NOT NULL,
    stands_on     INTEGER NOT NULL,
    sealed_secret BLOB,
    requested_by  TEXT NOT NULL,
    by_kind       TEXT NOT NULL,
    by_id         TEXT NOT NULL,
    made_by       TEXT,
    via           TEXT NOT NULL,
    requested_at  TEXT NOT NULL,
    expires_at    TEXT NOT NULL,
    status        TEXT NOT NULL,
    decided_at    TEXT,
    decided_by    TEXT,
    comment       TEXT,
    PRIMARY KEY (company_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX gated_changes_open ON gated_changes (company_id, expires_at) WHERE status = 'open';

-- Who saved the draft of a version, who made the key that published it, and the gates that it makes laxer, as JSON.
ALTER TABLE own_templates ADD COLUMN drafted_by TEXT;
ALTER TABLE own_templates ADD COLUMN made_by TEXT;
ALTER TABLE own_templates ADD COLUMN loosened TEXT;

-- Who may find a run that not everybody reads: the template that says so (`rule`), whom it is about (`subject`), who
-- started it, and whose broken glass lets them read until `ends_at`.
CREATE TABLE run_readers (
    company_id  TEXT NOT NULL,
    run_id      TEXT NOT NULL,
    kind        TEXT NOT NULL,
    name        TEXT NOT NULL,
    ends_at     TEXT,
    PRIMARY KEY (company_id, run_id, kind, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX run_readers_by_name ON run_readers (company_id, kind, name);

-- What tells the event's position from the same one in a history that was lost; empty for deliveries of before.
ALTER TABLE webhook_deliveries ADD COLUMN mark BLOB NOT NULL DEFAULT X'';
