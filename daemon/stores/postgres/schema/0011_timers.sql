-- When something of a run is due next: a deadline, a reminder, or the end of a wait. `reviewed` says that people or the
-- calendar of the company decide about its open gates or waits, so that a change of those looks at it again.
ALTER TABLE runs ADD COLUMN wake_at text COLLATE "C";
ALTER TABLE runs ADD COLUMN reviewed boolean NOT NULL DEFAULT false;
CREATE INDEX runs_due ON runs (epoch, wake_at) WHERE wake_at IS NOT NULL;
CREATE INDEX runs_reviewed ON runs (company_id, id) WHERE reviewed;

DROP FUNCTION penstock_append(text, bigint, text, bigint, run_commit[]);
DROP TYPE run_commit;

-- As before, with what is due next.
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
    reviewed     boolean
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
                epoch, moved_by, moved_from, wake_at, reviewed)
            VALUES (company, one.id, one.version, one.resting, one.status, one.vertical, one.parked, one.created_at,
                one.updated_at, daemon, daemon, one.expected, one.wake_at, one.reviewed)
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
