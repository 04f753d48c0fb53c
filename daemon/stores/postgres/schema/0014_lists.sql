-- Who may decide at an open gate: what it asks (`asked`, JSON), whom four eyes exclude by what happened in the run, and
-- who has decided already. The rows come anew, since only their runs know it: a daemon lists each when it starts.
DELETE FROM open_gates;
ALTER TABLE open_gates ADD COLUMN asked text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE open_gates ADD COLUMN barred text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE open_gates ADD COLUMN decided text COLLATE "C" NOT NULL DEFAULT '';

-- What is counted and listed for one person, and the order by risk and age: both at a cost that does not grow.
CREATE INDEX open_gates_by_asked ON open_gates (company_id, asked, decided, barred);
CREATE INDEX open_gates_by_risk ON open_gates (company_id, substr(place, strpos(place, '|') + 1));

-- Runs by the time of their start; partial, so that it serves those alone who ask for a time, and say so.
CREATE INDEX runs_by_creation ON runs (company_id, created_at, id) WHERE created_at <> '';

-- The search index of runs: words of what each started with. Rows are added beside the commits, which do not pay for it;
-- `search_progress` is the position of the company's last commit that was looked at.
CREATE TABLE run_words (
    company_id  text COLLATE "C" NOT NULL,
    run_id      text COLLATE "C" NOT NULL,
    words       text NOT NULL,
    found_by    tsvector GENERATED ALWAYS AS (to_tsvector('simple', words)) STORED,
    PRIMARY KEY (company_id, run_id)
);
CREATE INDEX run_words_by_words ON run_words USING gin (found_by);
CREATE TABLE search_progress (
    company_id  text COLLATE "C" NOT NULL PRIMARY KEY,
    position    bigint NOT NULL
);

-- What people search and filter by again and again; `query` is that of the page's address.
CREATE TABLE saved_views (
    company_id  text COLLATE "C" NOT NULL,
    user_id     text COLLATE "C" NOT NULL,
    list        text COLLATE "C" NOT NULL,
    name        text COLLATE "C" NOT NULL,
    query       text NOT NULL,
    saved_at    text COLLATE "C" NOT NULL,
    PRIMARY KEY (company_id, user_id, list, name)
);

-- As before, with who may decide.
CREATE OR REPLACE FUNCTION penstock_append(
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
                INSERT INTO open_gates (company_id, run_id, step_id, visit, vertical, tier, place, words,
                    asked, barred, decided)
                SELECT company, one.id, step_id, visit, one.vertical, tier, place, words, asked, barred, decided
                FROM jsonb_to_recordset(one.gates::jsonb)
                    AS gate(step_id text, visit bigint, tier text, place text, words text,
                        asked text, barred text, decided text);
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
