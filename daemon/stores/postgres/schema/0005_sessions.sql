-- Log-ins, each until it is ended or expires. A page's session has the hashes of its refresh tokens, an API client's has
-- none; `rotated_at` is when the present refresh token took the place of the one before.
CREATE TABLE sessions (
    company_id     text COLLATE "C" NOT NULL,
    id             text COLLATE "C" NOT NULL,
    user_id        text COLLATE "C" NOT NULL,
    kind           text COLLATE "C" NOT NULL,
    created_at     text COLLATE "C" NOT NULL,
    expires_at     text COLLATE "C" NOT NULL,
    last_used_at   text COLLATE "C" NOT NULL,
    address        text NOT NULL,
    user_agent     text NOT NULL,
    ended_at       text COLLATE "C",
    family_hash    bytea,
    current_hash   bytea,
    previous_hash  bytea,
    rotated_at     text COLLATE "C",
    PRIMARY KEY (company_id, user_id, id)
);
CREATE INDEX sessions_by_id ON sessions (id);
CREATE INDEX sessions_by_age ON sessions (expires_at);

-- Tokens of an earlier epoch do not count, but for those of the session `epoch_kept`; after `epoch_until` all of them
-- have expired. Other daemons look for epochs that were noted lately.
ALTER TABLE users ADD COLUMN epoch bigint NOT NULL DEFAULT 0;
ALTER TABLE users ADD COLUMN epoch_kept text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE users ADD COLUMN epoch_until text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE users ADD COLUMN epoch_noted_at timestamptz;
CREATE INDEX users_by_epoch ON users (epoch_until) WHERE epoch > 0;
CREATE INDEX users_by_noted_epoch ON users (epoch_noted_at) WHERE epoch_noted_at IS NOT NULL;
