-- rolls from 20: daemons of 0.1.0 go on while they are replaced one by one. What they append goes through the function
-- of before, and all that is new here has a default.
ALTER TABLE migrations ADD COLUMN rolls_from bigint;

-- What was begun for a run at a version, so that an evaluation under which a daemon ended is not repeated.
CREATE TABLE evaluations_begun (
    company_id  text COLLATE "C" NOT NULL,
    run_id      text COLLATE "C" NOT NULL,
    version     bigint NOT NULL,
    begun_by    bigint NOT NULL,
    PRIMARY KEY (company_id, run_id)
);

-- Runs by vertical; partial, so that it serves those alone who ask for one, and say so.
CREATE INDEX runs_by_vertical ON runs (company_id, vertical, id) WHERE vertical <> '';

-- When the first of a run's clocks is due; NULL without one that goes. The index is in the order of the list.
ALTER TABLE runs ADD COLUMN clock_due_at text COLLATE "C";
CREATE INDEX runs_by_clock ON runs (company_id, id, clock_due_at) WHERE clock_due_at IS NOT NULL;

-- The clocks of runs as reports count them: those that go, and those that have stopped.
CREATE TABLE report_clocks (
    company_id  text COLLATE "C" NOT NULL,
    run_id      text COLLATE "C" NOT NULL,
    clock       text COLLATE "C" NOT NULL,
    vertical    text COLLATE "C" NOT NULL,
    label       text COLLATE "C" NOT NULL,
    started_at  text COLLATE "C",
    due_at      text COLLATE "C",
    breached_at text COLLATE "C",
    stopped_at  text COLLATE "C",
    stopped_by  text COLLATE "C",
    left_us     bigint,
    PRIMARY KEY (company_id, run_id, clock)
);
CREATE INDEX report_clocks_open ON report_clocks (company_id, due_at) WHERE stopped_at IS NULL;
CREATE INDEX report_clocks_stopped ON report_clocks (company_id, stopped_at) WHERE stopped_at IS NOT NULL;

-- The calls of a tool on a day by the template that made them; report_calls has those of daemons of 0.1.0.
CREATE TABLE report_tool_calls (
    company_id  text COLLATE "C" NOT NULL,
    day         text COLLATE "C" NOT NULL,
    vertical    text COLLATE "C" NOT NULL,
    tool_id     text COLLATE "C" NOT NULL,
    calls       bigint NOT NULL,
    failed      bigint NOT NULL,
    last_at     text COLLATE "C" NOT NULL,
    last_error  text COLLATE "C",
    PRIMARY KEY (company_id, day, vertical, tool_id)
);
CREATE INDEX report_tool_calls_by_age ON report_tool_calls (day);

-- Daemons of 0.1.0 cannot read every event of this version, and would pass it over for good: how far reports have counted
-- moves by a row that takes the place of the one before, and no more by their update.
CREATE FUNCTION penstock_keep_cursor() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RETURN NULL;
END
$$;
CREATE TRIGGER report_cursors_kept BEFORE UPDATE ON report_cursors
    FOR EACH ROW EXECUTE FUNCTION penstock_keep_cursor();

-- What proved a session, separated by blanks, and the session of the provider; those of before have none. The session in
-- which a second factor was confirmed has proven it.
ALTER TABLE sessions ADD COLUMN amr text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN provider_sid text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE second_factors ADD COLUMN session_id text COLLATE "C" NOT NULL DEFAULT '';
CREATE INDEX sessions_by_provider ON sessions (provider_sid) WHERE provider_sid <> '';
CREATE INDEX sso_subjects_by_user ON sso_subjects (user_id);

-- Whether a key may say for whom it starts a run.
ALTER TABLE api_keys ADD COLUMN acts_for boolean NOT NULL DEFAULT false;

-- Who fills the functions of a company, as canonical JSON; `number` counts the changes.
CREATE TABLE function_bindings (
    company_id  text COLLATE "C" NOT NULL PRIMARY KEY,
    bindings    text COLLATE "C" NOT NULL,
    number      bigint NOT NULL,
    updated_at  text COLLATE "C" NOT NULL,
    updated_by  text COLLATE "C" NOT NULL
);

-- What was asked for behind the gate of a company: `body` is the canonical JSON that the digest is of, `stands_on` the number
-- that it follows on, and a secret is sealed. One that expired stays open.
CREATE TABLE gated_changes (
    company_id    text COLLATE "C" NOT NULL,
    id            text COLLATE "C" NOT NULL,
    act           text COLLATE "C" NOT NULL,
    what          text COLLATE "C" NOT NULL,
    digest        text COLLATE "C" NOT NULL,
    body          text COLLATE "C" NOT NULL,
    stands_on     bigint NOT NULL,
    sealed_secret bytea,
    requested_by  text COLLATE "C" NOT NULL,
    by_kind       text COLLATE "C" NOT NULL,
    by_id         text COLLATE "C" NOT NULL,
    made_by       text COLLATE "C",
    via           text COLLATE "C" NOT NULL,
    requested_at  text COLLATE "C" NOT NULL,
    expires_at    text COLLATE "C" NOT NULL,
    status        text COLLATE "C" NOT NULL,
    decided_at    text COLLATE "C",
    decided_by    text COLLATE "C",
    comment       text COLLATE "C",
    PRIMARY KEY (company_id, id)
);
CREATE INDEX gated_changes_open ON gated_changes (company_id, expires_at) WHERE status = 'open';

-- Who saved the draft of a version, who made the key that published it, and the gates that it makes laxer, as JSON.
ALTER TABLE own_templates ADD COLUMN drafted_by text COLLATE "C";
ALTER TABLE own_templates ADD COLUMN made_by text COLLATE "C";
ALTER TABLE own_templates ADD COLUMN loosened text COLLATE "C";

-- Who may find a run that not everybody reads: the template that says so (`rule`), whom it is about (`subject`), who
-- started it, and whose broken glass lets them read until `ends_at`.
CREATE TABLE run_readers (
    company_id  text COLLATE "C" NOT NULL,
    run_id      text COLLATE "C" NOT NULL,
    kind        text COLLATE "C" NOT NULL,
    name        text COLLATE "C" NOT NULL,
    ends_at     text COLLATE "C",
    PRIMARY KEY (company_id, run_id, kind, name)
);
CREATE INDEX run_readers_by_name ON run_readers (company_id, kind, name);

-- The rules for calls of agents, and what is paused of them, as canonical JSON; `number` counts the changes.
CREATE TABLE action_rules (
    company_id  text COLLATE "C" NOT NULL PRIMARY KEY,
    rules       text COLLATE "C" NOT NULL,
    number      bigint NOT NULL,
    updated_at  text COLLATE "C" NOT NULL,
    updated_by  text COLLATE "C" NOT NULL
);
CREATE TABLE action_pauses (
    company_id  text COLLATE "C" NOT NULL PRIMARY KEY,
    pauses      text COLLATE "C" NOT NULL,
    number      bigint NOT NULL,
    updated_at  text COLLATE "C" NOT NULL,
    updated_by  text COLLATE "C" NOT NULL,
    noted_at    timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX action_pauses_by_noted ON action_pauses (noted_at);

-- The documents that actions are pinned to, by digest: those of rules of then, too.
CREATE TABLE action_templates (
    company_id  text COLLATE "C" NOT NULL,
    digest      text COLLATE "C" NOT NULL,
    document    text COLLATE "C" NOT NULL,
    PRIMARY KEY (company_id, digest)
);

-- Actions as they are listed, written with their runs. `fingerprint` is of the call, whoever makes it, and `context_key` of
-- the context without what names one call. `amount` is in millionths; it counts from `spent_at` on. A result was handed out
-- at `taken_at`. Since `held_at` the call is held, and certainly was not sent.
CREATE TABLE actions (
    company_id    text COLLATE "C" NOT NULL,
    run_id        text COLLATE "C" NOT NULL,
    agent         text COLLATE "C" NOT NULL,
    agent_id      text COLLATE "C" NOT NULL,
    model         text COLLATE "C",
    tool          text COLLATE "C" NOT NULL,
    server        text COLLATE "C",
    way           text COLLATE "C" NOT NULL,
    status        text COLLATE "C" NOT NULL,
    outcome       text COLLATE "C",
    rule          text COLLATE "C" NOT NULL,
    rule_version  bigint NOT NULL,
    decision      text COLLATE "C" NOT NULL,
    fingerprint   text COLLATE "C" NOT NULL,
    context_key   text COLLATE "C",
    created_at    text COLLATE "C" NOT NULL,
    expires_at    text COLLATE "C",
    amount        bigint,
    spent_at      text COLLATE "C",
    taken_at      text COLLATE "C",
    held_at       text COLLATE "C",
    PRIMARY KEY (company_id, run_id)
);
CREATE INDEX actions_by_agent ON actions (company_id, agent, run_id);
CREATE INDEX actions_by_context ON actions (company_id, context_key, run_id) WHERE context_key IS NOT NULL;
CREATE INDEX actions_by_rule ON actions (company_id, rule, created_at, decision);
CREATE INDEX actions_spent ON actions (company_id, rule, spent_at, amount) WHERE spent_at IS NOT NULL;
CREATE INDEX actions_spent_by_agent ON actions (company_id, rule, agent, spent_at, amount) WHERE spent_at IS NOT NULL;
CREATE INDEX actions_in_doubt ON actions (company_id, outcome, fingerprint, run_id) WHERE outcome = 'unknown';

-- What is held of budgets until the run of a call has begun. `scope` is an agent's name, or empty.
CREATE TABLE action_holds (
    company_id  text COLLATE "C" NOT NULL,
    rule        text COLLATE "C" NOT NULL,
    scope       text COLLATE "C" NOT NULL,
    run_id      text COLLATE "C" NOT NULL,
    amount      bigint NOT NULL,
    held_at     text COLLATE "C" NOT NULL,
    PRIMARY KEY (company_id, rule, scope, run_id)
);
CREATE INDEX action_holds_by_run ON action_holds (company_id, run_id);
CREATE INDEX action_holds_by_age ON action_holds (held_at);

-- Which action the same call joins, while its result was not taken: of an agent, or of anybody where `agent_id` is empty.
CREATE TABLE action_joins (
    company_id   text COLLATE "C" NOT NULL,
    agent_id     text COLLATE "C" NOT NULL,
    fingerprint  text COLLATE "C" NOT NULL,
    run_id       text COLLATE "C" NOT NULL,
    reserved_at  text COLLATE "C" NOT NULL,
    request      text COLLATE "C" NOT NULL,
    PRIMARY KEY (company_id, agent_id, fingerprint)
);

-- Instances of the Agent Approval Protocol: each is an agent's key of that name; where its results go is sealed.
CREATE TABLE aap_instances (
    company_id       text COLLATE "C" NOT NULL,
    key_id           text COLLATE "C" NOT NULL,
    id               text COLLATE "C" NOT NULL,
    name             text COLLATE "C" NOT NULL,
    sealed_url       bytea,
    registration_id  text COLLATE "C",
    sealed_secret    bytea,
    number           bigint NOT NULL,
    created_at       text COLLATE "C" NOT NULL,
    created_by       text COLLATE "C" NOT NULL,
    deleted_at       text COLLATE "C",
    PRIMARY KEY (company_id, key_id)
);
CREATE UNIQUE INDEX aap_instances_by_id ON aap_instances (id);

-- Servers of the Model Context Protocol that agents reach through this service, and each change of one.
CREATE TABLE mcp_servers (
    company_id         text COLLATE "C" NOT NULL,
    name               text COLLATE "C" NOT NULL,
    version            bigint NOT NULL,
    url                text COLLATE "C" NOT NULL,
    auth_type          text COLLATE "C" NOT NULL,
    sealed_secret      bytea,
    reversible         boolean NOT NULL,
    trust_annotations  boolean NOT NULL,
    wait_s             bigint NOT NULL,
    tools              text COLLATE "C" NOT NULL,
    changed_at         text COLLATE "C" NOT NULL,
    changed_by         text COLLATE "C" NOT NULL,
    PRIMARY KEY (company_id, name)
);
CREATE TABLE mcp_server_changes (
    company_id  text COLLATE "C" NOT NULL,
    name        text COLLATE "C" NOT NULL,
    number      bigint NOT NULL,
    version     bigint NOT NULL,
    at          text COLLATE "C" NOT NULL,
    by          text COLLATE "C" NOT NULL,
    secret      text COLLATE "C" NOT NULL,
    before      text COLLATE "C",
    after       text COLLATE "C",
    via         text COLLATE "C" NOT NULL,
    noted_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (company_id, name, number)
);
CREATE INDEX mcp_server_changes_by_age ON mcp_server_changes (noted_at);

-- What an agent's key may do beside its role, and the model behind it, as canonical JSON.
ALTER TABLE api_keys ADD COLUMN model text COLLATE "C";
ALTER TABLE api_keys ADD COLUMN models text COLLATE "C" NOT NULL DEFAULT '[]';
ALTER TABLE api_keys ADD COLUMN scopes text COLLATE "C";

-- As `run_commit`, with the head of the history that a commit follows, empty for a new run.
CREATE TYPE run_commit_2 AS (
    id           text,
    expected     bigint,
    version      bigint,
    resting      boolean,
    status       text,
    parked       text,
    updated_at   text,
    vertical     text,
    created_at   text,
    head         bytea,
    mac          bytea,
    exact        bytea,
    events       bytea,
    snapshot_mac bytea,
    body         bytea,
    path         text,
    key          text,
    fingerprint  bytea,
    answered_run text,
    answered     bigint,
    headers      text,
    answer       bytea,
    wake_at      text,
    reviewed     boolean,
    clock_due_at text,
    business_key text,
    gates        text,
    follows      bytea,
    readers      text,
    action       text
);

-- As `penstock_append`, which stays for daemons of the version before while they are replaced one by one. A commit is
-- refused, too, where the stored history is another one of the same length: the database may have failed over to a server
-- that lacks what a daemon remembers. `placed` is the position of the commit in the company.
CREATE FUNCTION penstock_append_2(
    company text, daemon bigint, received_at text, snapshot_schema bigint, commits_given run_commit_2[]
) RETURNS TABLE (performer bigint, taken_over bigint, refusal text, placed bigint)
LANGUAGE plpgsql AS $$
DECLARE
    one run_commit_2;
    next_position bigint;
    found_version bigint;
BEGIN
    PERFORM FROM daemons WHERE epoch = daemon FOR KEY SHARE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    INSERT INTO clocks (company_id, position) VALUES (company, cardinality(commits_given))
    ON CONFLICT (company_id) DO UPDATE SET position = clocks.position + excluded.position
    RETURNING position - cardinality(commits_given) INTO next_position;

    FOREACH one IN ARRAY commits_given LOOP
        next_position := next_position + 1;
        placed := next_position;
        performer := NULL;
        taken_over := NULL;
        refusal := NULL;
        SELECT version INTO found_version FROM runs WHERE company_id = company AND id = one.id FOR UPDATE;
        IF coalesce(found_version, 0) <> one.expected OR (one.expected > 0 AND NOT EXISTS (
            SELECT FROM commits
            WHERE company_id = company AND run_id = one.id AND version = one.expected AND head = one.follows
        )) THEN
            refusal := 'version conflict';
            IF EXISTS (
                SELECT FROM receipts WHERE company_id = company AND path = one.path AND key = one.key
            ) THEN
                refusal := 'receipt taken';
            END IF;
        ELSIF one.key IS NOT NULL THEN
            INSERT INTO receipts (company_id, path, key, fingerprint, run_id, status, headers, body, created_at)
            VALUES (company, one.path, one.key, one.fingerprint, one.answered_run, one.answered, one.headers,
                one.answer, received_at)
            ON CONFLICT (company_id, path, key) DO NOTHING;
            IF NOT FOUND THEN
                refusal := 'receipt taken';
            END IF;
        END IF;

        IF refusal IS NULL THEN
            INSERT INTO runs (company_id, id, version, resting, status, vertical, parked, created_at, updated_at,
                epoch, moved_by, moved_from, wake_at, reviewed, clock_due_at,
                business_key)
            VALUES (company, one.id, one.version, one.resting, one.status, one.vertical, one.parked, one.created_at,
                one.updated_at, daemon, daemon, one.expected, one.wake_at, one.reviewed, one.clock_due_at,
                one.business_key)
            ON CONFLICT (company_id, id) DO UPDATE SET version = excluded.version, resting = excluded.resting,
                status = excluded.status, parked = excluded.parked, updated_at = excluded.updated_at,
                epoch = CASE WHEN runs.resting THEN excluded.epoch ELSE runs.epoch END,
                claimed = CASE WHEN runs.resting THEN 0 ELSE runs.claimed END,
                moved_by = excluded.moved_by, moved_from = excluded.moved_from,
                wake_at = excluded.wake_at, reviewed = excluded.reviewed, clock_due_at = excluded.clock_due_at
            RETURNING epoch, claimed INTO performer, taken_over;
            IF one.events IS NOT NULL THEN
                INSERT INTO commits (company_id, run_id, version, first_seq, position, head, mac, exact, events)
                VALUES (company, one.id, one.version, one.expected + 1, next_position, one.head, one.mac,
                    one.exact, one.events);
            END IF;
            IF one.gates IS NOT NULL THEN
                DELETE FROM open_gates WHERE company_id = company AND run_id = one.id;
                INSERT INTO open_gates (company_id, run_id, step_id, visit, vertical, tier, place, words,
                    asked, barred, decided)
                SELECT company, one.id, step_id, visit, one.vertical, tier, place, words, asked, barred, decided
                FROM jsonb_to_recordset(one.gates::jsonb)
                    AS gate(step_id text, visit bigint, tier text, place text, words text,
                        asked text, barred text, decided text);
            END IF;
            IF one.readers IS NOT NULL THEN
                DELETE FROM run_readers WHERE company_id = company AND run_id = one.id
                    AND one.readers::jsonb -> 'kinds' ? kind;
                INSERT INTO run_readers (company_id, run_id, kind, name, ends_at)
                SELECT company, one.id, kind, name, ends_at
                FROM jsonb_to_recordset(one.readers::jsonb -> 'rows') AS reader(kind text, name text, ends_at text)
                ON CONFLICT DO NOTHING;
            END IF;
            IF one.action IS NOT NULL THEN
                INSERT INTO actions (company_id, run_id,
                    agent, agent_id, model, tool, server, way, status, outcome, rule, rule_version, decision,
                    fingerprint, context_key, created_at, expires_at, amount, spent_at)
                SELECT company, one.id,
                    agent, agent_id, model, tool, server, way, status, outcome, rule, rule_version, decision,
                    fingerprint, context_key, created_at, expires_at, amount, spent_at
                FROM jsonb_to_record(one.action::jsonb) AS action(
                    agent text, agent_id text, model text, tool text, server text, way text, status text,
                    outcome text, rule text, rule_version bigint, decision text, fingerprint text,
                    context_key text, created_at text, expires_at text, amount bigint, spent_at text)
                ON CONFLICT (company_id, run_id) DO UPDATE SET
                    agent = excluded.agent, agent_id = excluded.agent_id, model = excluded.model,
                    tool = excluded.tool, server = excluded.server, way = excluded.way,
                    status = excluded.status, outcome = excluded.outcome, rule = excluded.rule,
                    rule_version = excluded.rule_version, decision = excluded.decision,
                    fingerprint = excluded.fingerprint,
                    context_key = excluded.context_key, created_at = excluded.created_at,
                    expires_at = excluded.expires_at, amount = excluded.amount, spent_at = excluded.spent_at;
                IF one.expected = 0 THEN
                    DELETE FROM action_holds WHERE company_id = company AND run_id = one.id;
                END IF;
            END IF;
            IF one.body IS NOT NULL THEN
                INSERT INTO snapshots (company_id, run_id, version, schema, mac, body)
                VALUES (company, one.id, one.version, snapshot_schema, one.snapshot_mac, one.body)
                ON CONFLICT (company_id, run_id) DO UPDATE SET version = excluded.version,
                    schema = excluded.schema, mac = excluded.mac, body = excluded.body;
            END IF;
        END IF;
        RETURN NEXT;
    END LOOP;
END
$$;

-- What tells the event's position from the same one in a history that was lost; empty for deliveries of before.
ALTER TABLE webhook_deliveries ADD COLUMN mark bytea NOT NULL DEFAULT '';

-- Rows of reports by month, so that old ones go with their table. What is there becomes the first month, with all before
-- it; no row is written anew. A month that nobody has made yet is in `_other`. An index by age alone misled the planner:
-- it read the rows of all companies for those of one.
DROP INDEX report_decisions_by_age;
DROP INDEX report_failures_by_age;
DO $$
DECLARE
    dated record;
    last text;
    first_month text;
BEGIN
    FOR dated IN SELECT * FROM (VALUES ('report_decisions', 'decided_at'), ('report_failures', 'failed_at')) AS of(name, at)
    LOOP
        EXECUTE format('SELECT coalesce(max(%I), '''') FROM %I', dated.at, dated.name) INTO last;
        last := greatest(left(last, 7), to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM'));
        first_month := dated.name || '_' || replace(last, '-', '_');
        EXECUTE format('ALTER TABLE %I RENAME TO %I', dated.name, first_month);
        EXECUTE format('ALTER INDEX %I RENAME TO %I', dated.name || '_pkey', first_month || '_pkey');
        EXECUTE format('CREATE TABLE %I (LIKE %I, PRIMARY KEY (company_id, %I, run_id, seq)) PARTITION BY RANGE (%I)',
            dated.name, first_month, dated.at, dated.at);
        EXECUTE format('CREATE TABLE %I PARTITION OF %I DEFAULT', dated.name || '_other', dated.name);
        EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (MINVALUE) TO (%L)', dated.name, first_month,
            to_char((last || '-01')::date + interval '1 month', 'YYYY-MM'));
    END LOOP;
END
$$;

-- What a judged visit is about beside its step, as JSON: the tool and model of an action, and the models of judges.
ALTER TABLE report_judged ADD COLUMN about text COLLATE "C" NOT NULL DEFAULT '';
DROP INDEX report_judged_by_people;
CREATE INDEX report_judged_by_people
    ON report_judged (company_id, vertical, step_id, template_version, about, at, run_id, seq) WHERE approved IS NOT NULL;
