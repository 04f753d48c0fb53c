-- The gates that wait for a human, in the order of their urgency: what is due first, then the higher risk, then the older.
-- Rows are written with the commits of their runs. `words` is what people search by.
CREATE TABLE open_gates (
    company_id  text COLLATE "C" NOT NULL,
    run_id      text COLLATE "C" NOT NULL,
    step_id     text COLLATE "C" NOT NULL,
    visit       bigint NOT NULL,
    vertical    text COLLATE "C" NOT NULL,
    tier        text COLLATE "C" NOT NULL,
    place       text COLLATE "C" NOT NULL,
    words       text NOT NULL,
    found_by    tsvector GENERATED ALWAYS AS (to_tsvector('simple', words)) STORED,
    PRIMARY KEY (company_id, run_id, step_id)
);
CREATE INDEX open_gates_by_urgency ON open_gates (company_id, place);
CREATE INDEX open_gates_by_words ON open_gates USING gin (found_by);

-- Who looks at an open gate; it counts for that visit, and binds nobody.
CREATE TABLE gate_claims (
    company_id  text COLLATE "C" NOT NULL,
    run_id      text COLLATE "C" NOT NULL,
    step_id     text COLLATE "C" NOT NULL,
    visit       bigint NOT NULL,
    claimed_by  text NOT NULL,
    claimed_at  text COLLATE "C" NOT NULL,
    PRIMARY KEY (company_id, run_id, step_id)
);

-- What callers know a run by. `business_keys` holds the run that a unique key is given to.
ALTER TABLE runs ADD COLUMN business_key text COLLATE "C";
CREATE INDEX runs_by_business_key ON runs (company_id, business_key, id) WHERE business_key IS NOT NULL;
CREATE TABLE business_keys (
    company_id   text COLLATE "C" NOT NULL,
    vertical     text COLLATE "C" NOT NULL,
    key          text COLLATE "C" NOT NULL,
    run_id       text COLLATE "C" NOT NULL,
    reserved_at  text COLLATE "C" NOT NULL,
    PRIMARY KEY (company_id, vertical, key)
);

DROP FUNCTION penstock_append(text, bigint, text, bigint, run_commit[]);
DROP TYPE run_commit;

-- As before, with the open gates of the run, as a JSON list; NULL where they have not changed.
CREATE TYPE run_commit AS (
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
    business_key text,
    gates        text
);

CREATE FUNCTION penstock_append(
    company text, daemon bigint, received_at text, snapshot_schema bigint, commits_given run_commit[]
) RETURNS TABLE (performer bigint, taken_over bigint, refusal text)
LANGUAGE plpgsql AS $$
DECLARE
    one run_commit;
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
        performer := NULL;
        taken_over := NULL;
        refusal := NULL;
        SELECT version INTO found_version FROM runs WHERE company_id = company AND id = one.id FOR UPDATE;
        IF coalesce(found_version, 0) <> one.expected THEN
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
                epoch, moved_by, moved_from, wake_at, reviewed,
                business_key)
            VALUES (company, one.id, one.version, one.resting, one.status, one.vertical, one.parked, one.created_at,
                one.updated_at, daemon, daemon, one.expected, one.wake_at, one.reviewed,
                one.business_key)
            ON CONFLICT (company_id, id) DO UPDATE SET version = excluded.version, resting = excluded.resting,
                status = excluded.status, parked = excluded.parked, updated_at = excluded.updated_at,
                epoch = CASE WHEN runs.resting THEN excluded.epoch ELSE runs.epoch END,
                claimed = CASE WHEN runs.resting THEN 0 ELSE runs.claimed END,
                moved_by = excluded.moved_by, moved_from = excluded.moved_from,
                wake_at = excluded.wake_at, reviewed = excluded.reviewed
            RETURNING epoch, claimed INTO performer, taken_over;
            IF one.events IS NOT NULL THEN
                INSERT INTO commits (company_id, run_id, version, first_seq, position, head, mac, exact, events)
                VALUES (company, one.id, one.version, one.expected + 1, next_position, one.head, one.mac,
                    one.exact, one.events);
            END IF;
            IF one.gates IS NOT NULL THEN
                DELETE FROM open_gates WHERE company_id = company AND run_id = one.id;
                INSERT INTO open_gates (company_id, run_id, step_id, visit, vertical, tier, place, words)
                SELECT company, one.id, step_id, visit, one.vertical, tier, place, words
                FROM jsonb_to_recordset(one.gates::jsonb)
                    AS gate(step_id text, visit bigint, tier text, place text, words text);
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
