-- Who belongs to a company. A person invited is `pending` until the invitation is accepted; one who left stays as
-- `removed`, so that tokens of then do not count. `entered_at` is when the person last began a session here.
CREATE TABLE members (
    company_id   TEXT NOT NULL REFERENCES companies (id),
    id           TEXT NOT NULL UNIQUE,
    user_id      TEXT,
    email        TEXT NOT NULL,
    email_key    TEXT NOT NULL,
    role         TEXT NOT NULL,
    status       TEXT NOT NULL,
    invited_by   TEXT,
    invited_at   TEXT,
    joined_at    TEXT,
    changed_at   TEXT NOT NULL,
    entered_at   TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (company_id, id)
) STRICT;
CREATE UNIQUE INDEX members_by_email ON members (company_id, email_key) WHERE status <> 'removed';
CREATE INDEX members_by_user ON members (user_id, company_id);
CREATE INDEX members_by_change ON members (changed_at);

-- The first user of each company is its first member, under the same id.
INSERT INTO members (company_id, id, user_id, email, email_key, role, status, joined_at, changed_at)
    SELECT company_id, id, id, email, email_key, role, 'active', created_at, created_at FROM users;
ALTER TABLE users DROP COLUMN role;
CREATE INDEX sessions_by_user ON sessions (user_id);

-- Invitations by the hash of their token; `ended_at` is when one was used, replaced or withdrawn.
CREATE TABLE invitations (
    token_hash  BLOB NOT NULL PRIMARY KEY,
    company_id  TEXT NOT NULL,
    member_id   TEXT NOT NULL,
    created_at  TEXT NOT NULL,
    expires_at  TEXT NOT NULL,
    ended_at    TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX invitations_by_member ON invitations (company_id, member_id);

CREATE TABLE member_groups (
    company_id  TEXT NOT NULL,
    name        TEXT NOT NULL,
    updated_at  TEXT NOT NULL,
    updated_by  TEXT NOT NULL,
    PRIMARY KEY (company_id, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE group_members (
    company_id  TEXT NOT NULL,
    group_name  TEXT NOT NULL,
    member_id   TEXT NOT NULL,
    PRIMARY KEY (company_id, group_name, member_id)
) STRICT, WITHOUT ROWID;

-- Keys of services and agents, by their hash. A deleted one stays, since what was done with it names it.
CREATE TABLE api_keys (
    company_id    TEXT NOT NULL,
    id            TEXT NOT NULL UNIQUE,
    name          TEXT NOT NULL,
    kind          TEXT NOT NULL,
    role          TEXT NOT NULL,
    prefix        TEXT NOT NULL,
    key_hash      BLOB NOT NULL UNIQUE,
    created_at    TEXT NOT NULL,
    created_by    TEXT NOT NULL,
    expires_at    TEXT,
    last_used_at  TEXT,
    deleted_at    TEXT,
    PRIMARY KEY (company_id, id)
) STRICT, WITHOUT ROWID;

-- What a company asks of its people, as canonical JSON; `number` counts the changes.
CREATE TABLE policies (
    company_id  TEXT NOT NULL PRIMARY KEY,
    policy      TEXT NOT NULL,
    number      INTEGER NOT NULL,
    updated_at  TEXT NOT NULL,
    updated_by  TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Second factors; one counts from `confirmed_at`, and no more without a secret. `number` counts the changes,
-- `last_step` is the time step of the last code that was used.
CREATE TABLE second_factors (
    company_id     TEXT NOT NULL,
    user_id        TEXT NOT NULL,
    number         INTEGER NOT NULL,
    sealed_secret  BLOB,
    created_at     TEXT NOT NULL,
    confirmed_at   TEXT,
    last_step      INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (company_id, user_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX second_factors_by_user ON second_factors (user_id);

-- Links for a new password, by the hash of their token; `ended_at` is when the password was changed.
CREATE TABLE password_resets (
    token_hash  BLOB NOT NULL PRIMARY KEY,
    company_id  TEXT NOT NULL,
    user_id     TEXT NOT NULL,
    created_at  TEXT NOT NULL,
    expires_at  TEXT NOT NULL,
    ended_at    TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX password_resets_by_user ON password_resets (user_id);
CREATE INDEX password_resets_by_end ON password_resets (expires_at);

-- Users by the subject that an OpenID provider names; `company_id` is the one that they came to by it.
CREATE TABLE sso_subjects (
    issuer      TEXT NOT NULL,
    subject     TEXT NOT NULL,
    company_id  TEXT NOT NULL,
    user_id     TEXT NOT NULL,
    created_at  TEXT NOT NULL,
    PRIMARY KEY (issuer, subject)
) STRICT, WITHOUT ROWID;

-- What a session began with: a password, or single sign-on.
ALTER TABLE sessions ADD COLUMN via TEXT NOT NULL DEFAULT 'password';
