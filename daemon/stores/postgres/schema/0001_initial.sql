-- Every key starts with the tenant, so that all of a company can live on one shard; text is compared by its bytes, as
-- elsewhere. Times are UTC in ISO 8601 with microseconds: they sort as text. Only leases go by the database's clock.

-- The daemons that are alive. A commit holds on to its own row here; whoever finds a lease run out deletes it, and from
-- then on nothing that this daemon still sends can be committed.
CREATE TABLE daemons (
    epoch      bigint NOT NULL PRIMARY KEY,
    name       text COLLATE "C" NOT NULL,
    held_from  timestamptz NOT NULL,
    until      timestamptz NOT NULL
);
CREATE TABLE epochs (
    sole  boolean NOT NULL PRIMARY KEY CHECK (sole),
    last  bigint NOT NULL
);
INSERT INTO epochs VALUES (true, 0);

-- What orders the commits of a company: each takes its position while it holds this row, so that they become visible in
-- that order; `sealed` is apart, so that sealing does not hold up commits.
CREATE TABLE clocks (
    company_id  text COLLATE "C" NOT NULL PRIMARY KEY,
    position    bigint NOT NULL
) WITH (fillfactor = 50);
CREATE TABLE seals (
    company_id  text COLLATE "C" NOT NULL PRIMARY KEY,
    position    bigint NOT NULL
);

CREATE TABLE companies (
    id          text COLLATE "C" NOT NULL PRIMARY KEY,
    name        text NOT NULL,
    created_at  text COLLATE "C" NOT NULL
);
CREATE TABLE users (
    company_id     text COLLATE "C" NOT NULL,
    id             text COLLATE "C" NOT NULL,
    email          text NOT NULL,
    name           text,
    role           text NOT NULL,
    password_hash  text NOT NULL,
    created_at     text COLLATE "C" NOT NULL,
    PRIMARY KEY (company_id, id)
);
CREATE INDEX users_by_id ON users (id);
-- Who an address belongs to, over all companies: small, and read at log-in alone.
CREATE TABLE addresses (
    email_key   text COLLATE "C" NOT NULL PRIMARY KEY,
    company_id  text COLLATE "C" NOT NULL,
    user_id     text COLLATE "C" NOT NULL
);
CREATE TABLE revocations (
    token_id    text COLLATE "C" NOT NULL PRIMARY KEY,
    expires_at  text COLLATE "C" NOT NULL,
    noted_at    timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX revocations_by_age ON revocations (noted_at);
CREATE TABLE rates (
    who   text COLLATE "C" NOT NULL PRIMARY KEY,
    hits  timestamptz[] NOT NULL
);

CREATE TABLE templates (
    digest    text COLLATE "C" NOT NULL PRIMARY KEY,
    vertical  text COLLATE "C" NOT NULL,
    version   bigint NOT NULL,
    document  text NOT NULL,
    UNIQUE (vertical, version)
);

-- Where each run stands. `epoch` is the daemon that performs what is outstanding, `moved_by` the one that committed
-- last, and `moved_from` the version that it found; what was outstanding at the version `claimed` was taken over from a
-- daemon that is gone, and may have been begun.
CREATE TABLE runs (
    company_id  text COLLATE "C" NOT NULL,
    id          text COLLATE "C" NOT NULL,
    version     bigint NOT NULL,
    resting     boolean NOT NULL,
    status      text COLLATE "C" NOT NULL,
    vertical    text COLLATE "C" NOT NULL,
    parked      text COLLATE "C" NOT NULL,
    created_at  text COLLATE "C" NOT NULL,
    updated_at  text COLLATE "C" NOT NULL,
    epoch       bigint NOT NULL,
    moved_by    bigint NOT NULL,
    moved_from  bigint NOT NULL,
    claimed     bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (company_id, id)
) WITH (fillfactor = 80);
CREATE INDEX runs_by_status ON runs (company_id, status, id);
CREATE INDEX runs_unfinished ON runs (epoch, company_id, id) WHERE NOT resting;
CREATE INDEX runs_strayed ON runs (epoch) WHERE NOT resting AND moved_by <> epoch;
CREATE INDEX runs_forgotten ON runs (company_id, id)
    WHERE resting AND (status = 'executing' OR (status = 'parked' AND parked = ''));

CREATE TABLE snapshots (
    company_id  text COLLATE "C" NOT NULL,
    run_id      text COLLATE "C" NOT NULL,
    version     bigint NOT NULL,
    schema      bigint NOT NULL,
    checksum    bigint NOT NULL,
    body        bytea NOT NULL,
    PRIMARY KEY (company_id, run_id)
) WITH (fillfactor = 80);

-- The truth: what each turn made fact; `head` chains it to all before it, `exact` has the same events where canonical
-- JSON would lose whether a number is 1 or 1.0. The log of a company is the stream that has the company's id.
CREATE TABLE commits (
    company_id  text COLLATE "C" NOT NULL,
    run_id      text COLLATE "C" NOT NULL,
    version     bigint NOT NULL,
    first_seq   bigint NOT NULL,
    position    bigint NOT NULL,
    head        bytea NOT NULL,
    exact       bytea,
    events      bytea NOT NULL,
    PRIMARY KEY (company_id, run_id, version)
);
CREATE UNIQUE INDEX commits_in_order ON commits (company_id, position);

CREATE TABLE receipts (
    company_id   text COLLATE "C" NOT NULL,
    path         text COLLATE "C" NOT NULL,
    key          text COLLATE "C" NOT NULL,
    fingerprint  bytea NOT NULL,
    run_id       text,
    status       bigint,
    headers      text NOT NULL,
    body         bytea NOT NULL,
    created_at   text COLLATE "C" NOT NULL,
    PRIMARY KEY (company_id, path, key)
);
CREATE INDEX receipts_by_age ON receipts (created_at);

CREATE TABLE connectors (
    company_id     text COLLATE "C" NOT NULL,
    tool_id        text COLLATE "C" NOT NULL,
    connector      bytea NOT NULL,
    sealed_secret  bytea,
    created_at     text COLLATE "C" NOT NULL,
    updated_at     text COLLATE "C" NOT NULL,
    updated_by     text NOT NULL,
    PRIMARY KEY (company_id, tool_id)
);
CREATE TABLE connector_changes (
    company_id  text COLLATE "C" NOT NULL,
    tool_id     text COLLATE "C" NOT NULL,
    number      bigint NOT NULL,
    version     bigint NOT NULL,
    at          text COLLATE "C" NOT NULL,
    by          text NOT NULL,
    secret      text NOT NULL,
    before      bytea NOT NULL,
    after       bytea NOT NULL,
    via         text NOT NULL,
    noted_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (company_id, tool_id, number)
);
CREATE INDEX connector_changes_by_age ON connector_changes (noted_at);
CREATE TABLE company_keys (
    company_id  text COLLATE "C" NOT NULL PRIMARY KEY,
    key_id      text COLLATE "C" NOT NULL,
    wrapped     bytea NOT NULL,
    created_at  text COLLATE "C" NOT NULL
);

CREATE TABLE audit_leaves (
    company_id  text COLLATE "C" NOT NULL,
    number      bigint NOT NULL,
    stream      text COLLATE "C" NOT NULL,
    version     bigint NOT NULL,
    position    bigint NOT NULL,
    PRIMARY KEY (company_id, number),
    UNIQUE (company_id, position)
);
CREATE TABLE audit_nodes (
    company_id  text COLLATE "C" NOT NULL,
    level       bigint NOT NULL,
    number      bigint NOT NULL,
    hash        bytea NOT NULL,
    PRIMARY KEY (company_id, level, number)
);
CREATE TABLE audit_checkpoints (
    company_id  text COLLATE "C" NOT NULL,
    size        bigint NOT NULL,
    at          text NOT NULL,
    key_id      text NOT NULL,
    previous    text,
    root        text NOT NULL,
    signature   text NOT NULL,
    PRIMARY KEY (company_id, size)
);

-- `epoch` is the daemon that delivers; 0 as long as none does.
CREATE TABLE webhooks (
    company_id       text COLLATE "C" NOT NULL,
    id               text COLLATE "C" NOT NULL,
    url              text NOT NULL,
    events           text,
    description      text,
    sealed_secret    bytea NOT NULL,
    enabled          boolean NOT NULL,
    reason           text,
    failures         bigint NOT NULL,
    cursor_position  bigint NOT NULL,
    cursor_nth       bigint NOT NULL,
    created_at       text COLLATE "C" NOT NULL,
    updated_at       text COLLATE "C" NOT NULL,
    updated_by       text NOT NULL,
    epoch            bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (company_id, id)
);
CREATE TABLE webhook_deliveries (
    company_id   text COLLATE "C" NOT NULL,
    webhook_id   text COLLATE "C" NOT NULL,
    number       bigint NOT NULL,
    id           text COLLATE "C" NOT NULL,
    position     bigint NOT NULL,
    nth          bigint NOT NULL,
    run_id       text COLLATE "C" NOT NULL,
    seq          bigint NOT NULL,
    type         text NOT NULL,
    created_at   text COLLATE "C" NOT NULL,
    status       text NOT NULL,
    attempts     bigint NOT NULL,
    tries        bigint NOT NULL,
    next_at      text COLLATE "C",
    last_at      text COLLATE "C",
    status_code  bigint,
    latency_ms   bigint,
    error        text,
    PRIMARY KEY (company_id, webhook_id, number),
    UNIQUE (company_id, webhook_id, id)
);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (company_id, webhook_id, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX webhook_deliveries_by_age ON webhook_deliveries (created_at) WHERE next_at IS NULL;

-- Rows of evidence are added, never changed.
CREATE FUNCTION penstock_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'a row of % is never changed nor deleted', TG_TABLE_NAME;
END
$$;
CREATE TRIGGER connector_changes_stay BEFORE UPDATE OR DELETE ON connector_changes
    FOR EACH ROW EXECUTE FUNCTION penstock_stays();
CREATE TRIGGER audit_leaves_stay BEFORE UPDATE OR DELETE ON audit_leaves
    FOR EACH ROW EXECUTE FUNCTION penstock_stays();
CREATE TRIGGER audit_nodes_stay BEFORE UPDATE OR DELETE ON audit_nodes
    FOR EACH ROW EXECUTE FUNCTION penstock_stays();
CREATE TRIGGER audit_checkpoints_stay BEFORE UPDATE OR DELETE ON audit_checkpoints
    FOR EACH ROW EXECUTE FUNCTION penstock_stays();

-- What was moved here from another store, and whether all of it has come.
CREATE TABLE moves (
    sole    boolean NOT NULL PRIMARY KEY CHECK (sole),
    source  text NOT NULL,
    done    boolean NOT NULL
);
