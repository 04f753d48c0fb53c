-- Log-ins, each until it is ended or expires. A page's session has the hashes of its refresh tokens, an API client's has
-- none; `rotated_at` is when the present refresh token took the place of the one before.
CREATE TABLE sessions (
    company_id     TEXT NOT NULL,
    id             TEXT NOT NULL UNIQUE,
    user_id        TEXT NOT NULL,
    kind           TEXT NOT NULL,
    created_at     TEXT NOT NULL,
    expires_at     TEXT NOT NULL,
    last_used_at   TEXT NOT NULL,
    address        TEXT NOT NULL,
    user_agent     TEXT NOT NULL,
    ended_at       TEXT,
    family_hash    BLOB,
    current_hash   BLOB,
    previous_hash  BLOB,
    rotated_at     TEXT,
    PRIMARY KEY (company_id, user_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_by_age ON sessions (expires_at);

-- Tokens of an earlier epoch do not count, but for those of the session `epoch_kept`; after `epoch_until` all of them
-- have expired.
ALTER TABLE users ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0;
ALTER TABLE users ADD COLUMN epoch_kept TEXT NOT NULL DEFAULT '';
ALTER TABLE users ADD COLUMN epoch_until TEXT NOT NULL DEFAULT '';
CREATE INDEX users_by_epoch ON users (epoch_until) WHERE epoch > 0;
