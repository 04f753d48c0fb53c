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

-- The calls of a tool on a day by the template that made them; report_calls has those of daemons of 0.1.0.
CREATE TABLE report_tool_calls (
    company_id  TEXT NOT NULL,
    day         TEXT NOT NULL,
    vertical    TEXT NOT NULL,
    tool_id     TEXT NOT NULL,
    calls       INTEGER NOT NULL,
    failed      INTEGER NOT NULL,
    last_at     TEXT NOT NULL,
    last_error  TEXT,
    PRIMARY KEY (company_id, day, vertical, tool_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX report_tool_calls_by_age ON report_tool_calls (day);

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

-- The rules for calls of agents, and what is paused of them, as canonical JSON; `number` counts the changes.
CREATE TABLE action_rules (
    company_id  TEXT NOT NULL PRIMARY KEY,
    rules       TEXT NOT NULL,
    number      INTEGER NOT NULL,
    updated_at  TEXT NOT NULL,
    updated_by  TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE action_pauses (
    company_id  TEXT NOT NULL PRIMARY KEY,
    pauses      TEXT NOT NULL,
    number      INTEGER NOT NULL,
    updated_at  TEXT NOT NULL,
    updated_by  TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The documents that actions are pinned to, by digest: those of rules of then, too.
CREATE TABLE action_templates (
    company_id  TEXT NOT NULL,
    digest      TEXT NOT NULL,
    document    TEXT NOT NULL,
    PRIMARY KEY (company_id, digest)
) STRICT, WITHOUT ROWID;

-- Actions as they are listed, written with their runs. `fingerprint` is of the call, whoever makes it, and `context_key` of
-- the context without what names one call. `amount` is in millionths; it counts from `spent_at` on. A result was handed out
-- at `taken_at`. Since `held_at` the call is held, and certainly was not sent.
CREATE TABLE actions (
    company_id    TEXT NOT NULL,
    run_id        TEXT NOT NULL,
    agent         TEXT NOT NULL,
    agent_id      TEXT NOT NULL,
    model         TEXT,
    tool          TEXT NOT NULL,
    server        TEXT,
    way           TEXT NOT NULL,
    status        TEXT NOT NULL,
    outcome       TEXT,
    rule          TEXT NOT NULL,
    rule_version  INTEGER NOT NULL,
    decision      TEXT NOT NULL,
    fingerprint   TEXT NOT NULL,
    context_key   TEXT,
    created_at    TEXT NOT NULL,
    expires_at    TEXT,
    amount        INTEGER,
    spent_at      TEXT,
    taken_at      TEXT,
    held_at       TEXT,
    PRIMARY KEY (company_id, run_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX actions_by_agent ON actions (company_id, agent, run_id);
CREATE INDEX actions_by_context ON actions (company_id, context_key, run_id) WHERE context_key IS NOT NULL;
CREATE INDEX actions_by_rule ON actions (company_id, rule, created_at, decision);
CREATE INDEX actions_spent ON actions (company_id, rule, spent_at, amount) WHERE spent_at IS NOT NULL;
CREATE INDEX actions_spent_by_agent ON actions (company_id, rule, agent, spent_at, amount) WHERE spent_at IS NOT NULL;
CREATE INDEX actions_in_doubt ON actions (company_id, outcome, fingerprint, run_id) WHERE outcome = 'unknown';

-- What is held of budgets until the run of a call has begun. `scope` is an agent's name, or empty.
CREATE TABLE action_holds (
    company_id  TEXT NOT NULL,
    rule        TEXT NOT NULL,
    scope       TEXT NOT NULL,
    run_id      TEXT NOT NULL,
    amount      INTEGER NOT NULL,
    held_at     TEXT NOT NULL,
    PRIMARY KEY (company_id, rule, scope, run_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX action_holds_by_run ON action_holds (company_id, run_id);
CREATE INDEX action_holds_by_age ON action_holds (held_at);

-- Which action the same call joins, while its result was not taken: of an agent, or of anybody where `agent_id` is empty.
CREATE TABLE action_joins (
    company_id   TEXT NOT NULL,
    agent_id     TEXT NOT NULL,
    fingerprint  TEXT NOT NULL,
    run_id       TEXT NOT NULL,
    reserved_at  TEXT NOT NULL,
    request      TEXT NOT NULL,
    PRIMARY KEY (company_id, agent_id, fingerprint)
) STRICT, WITHOUT ROWID;

-- Instances of the Agent Approval Protocol: each is an agent's key of that name; where its results go is sealed.
CREATE TABLE aap_instances (
    company_id       TEXT NOT NULL,
    key_id           TEXT NOT NULL,
    id               TEXT NOT NULL,
    name             TEXT NOT NULL,
    sealed_url       BLOB,
    registration_id  TEXT,
    sealed_secret    BLOB,
    number           INTEGER NOT NULL,
    created_at       TEXT NOT NULL,
    created_by       TEXT NOT NULL,
    deleted_at       TEXT,
    PRIMARY KEY (company_id, key_id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX aap_instances_by_id ON aap_instances (id);

-- Servers of the Model Context Protocol that agents reach through this service, and each change of one.
CREATE TABLE mcp_servers (
    company_id         TEXT NOT NULL,
    name               TEXT NOT NULL,
    version            INTEGER NOT NULL,
    url                TEXT NOT NULL,
    auth_type          TEXT NOT NULL,
    sealed_secret      BLOB,
    reversible         INTEGER NOT NULL,
    trust_annotations  INTEGER NOT NULL,
    wait_s             INTEGER NOT NULL,
    tools              TEXT NOT NULL,
    changed_at         TEXT NOT NULL,
    changed_by         TEXT NOT NULL,
    PRIMARY KEY (company_id, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE mcp_server_changes (
    company_id  TEXT NOT NULL,
    name        TEXT NOT NULL,
    number      INTEGER NOT NULL,
    version     INTEGER NOT NULL,
    at          TEXT NOT NULL,
    by          TEXT NOT NULL,
    secret      TEXT NOT NULL,
    before      TEXT,
    after       TEXT,
    via         TEXT NOT NULL,
    PRIMARY KEY (company_id, name, number)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER mcp_server_changes_stay BEFORE UPDATE ON mcp_server_changes
BEGIN
    SELECT RAISE(ABORT, 'a change of an MCP server is never changed');
END;
CREATE TRIGGER mcp_server_changes_remain BEFORE DELETE ON mcp_server_changes
BEGIN
    SELECT RAISE(ABORT, 'a change of an MCP server is never deleted');
END;

-- What an agent's key may do beside its role, and the model behind it, as canonical JSON.
ALTER TABLE api_keys ADD COLUMN model TEXT;
ALTER TABLE api_keys ADD COLUMN models TEXT NOT NULL DEFAULT '[]';
ALTER TABLE api_keys ADD COLUMN scopes TEXT;

-- What a judged visit is about beside its step, as JSON: the tool and model of an action, and the models of judges.
ALTER TABLE report_judged ADD COLUMN about TEXT NOT NULL DEFAULT '';
DROP INDEX report_judged_by_people;
CREATE INDEX report_judged_by_people
    ON report_judged (company_id, vertical, step_id, template_version, about, at, run_id, seq) WHERE approved IS NOT NULL;
