-- Whom a company has told of its runs' events: `cursor_position` and `cursor_nth` are the place of the last event that
-- became deliveries, so that whatever comes behind it is still to be told. `events` is a JSON list, NULL means all types.
CREATE TABLE webhooks (
    company_id       TEXT NOT NULL,
    id               TEXT NOT NULL,
    url              TEXT NOT NULL,
    events           TEXT,
    description      TEXT,
    sealed_secret    BLOB NOT NULL,
    enabled          INTEGER NOT NULL,
    reason           TEXT,
    failures         INTEGER NOT NULL,
    cursor_position  INTEGER NOT NULL,
    cursor_nth       INTEGER NOT NULL,
    created_at       TEXT NOT NULL,
    updated_at       TEXT NOT NULL,
    updated_by       TEXT NOT NULL,
    PRIMARY KEY (company_id, id)
) STRICT, WITHOUT ROWID;

-- What is to be told and how that went; `next_at` is NULL for what is settled. What is sent stands in `commits`.
CREATE TABLE webhook_deliveries (
    company_id   TEXT NOT NULL,
    webhook_id   TEXT NOT NULL,
    number       INTEGER NOT NULL,
    id           TEXT NOT NULL,
    position     INTEGER NOT NULL,
    nth          INTEGER NOT NULL,
    run_id       TEXT NOT NULL,
    seq          INTEGER NOT NULL,
    type         TEXT NOT NULL,
    created_at   TEXT NOT NULL,
    status       TEXT NOT NULL,
    attempts     INTEGER NOT NULL,
    tries        INTEGER NOT NULL,
    next_at      TEXT,
    last_at      TEXT,
    status_code  INTEGER,
    latency_ms   INTEGER,
    error        TEXT,
    PRIMARY KEY (company_id, webhook_id, number),
    UNIQUE (company_id, webhook_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (company_id, webhook_id, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX webhook_deliveries_by_age ON webhook_deliveries (created_at) WHERE next_at IS NULL;
