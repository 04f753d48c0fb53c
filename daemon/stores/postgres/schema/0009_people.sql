-- Who belongs to a company. A person invited is `pending` until the invitation is accepted; one who left stays as
-- `removed`, so that tokens of then do not count. `entered_at` is when the person last began a session here,
-- `noted_at` when other daemons were to look.
CREATE TABLE members (
    company_id   text COLLATE "C" NOT NULL,
    id           text COLLATE "C" NOT NULL,
    user_id      text COLLATE "C",
    email        text COLLATE "C" NOT NULL,
    email_key    text COLLATE "C" NOT NULL,
    role         text COLLATE "C" NOT NULL,
    status       text COLLATE "C" NOT NULL,
    invited_by   text COLLATE "C",
    invited_at   text COLLATE "C",
    joined_at    text COLLATE "C",
    changed_at   text COLLATE "C" NOT NULL,
    entered_at   text COLLATE "C" NOT NULL DEFAULT '',
    noted_at     timestamptz,
    PRIMARY KEY (company_id, id)
);
CREATE UNIQUE INDEX members_by_email ON members (company_id, email_key) WHERE status <> 'removed';
CREATE INDEX members_by_user ON members (user_id, company_id);
CREATE INDEX members_by_id ON members (id);
CREATE INDEX members_by_noted ON members (noted_at) WHERE noted_at IS NOT NULL;
CREATE INDEX members_by_change ON members (changed_at);

-- The first user of each company is its first member, under the same id.
INSERT INTO members (company_id, id, user_id, email, email_key, role, status, joined_at, changed_at)
    SELECT users.company_id, id, id, email, email_key, role, 'active', created_at, created_at
    FROM users JOIN addresses ON addresses.company_id = users.company_id AND addresses.user_id = users.id;
ALTER TABLE users DROP COLUMN role;
CREATE INDEX sessions_by_user ON sessions (user_id);

-- Invitations by the hash of their token; `ended_at` is when one was used, replaced or withdrawn.
CREATE TABLE invitations (
    token_hash  bytea NOT NULL PRIMARY KEY,
    company_id  text COLLATE "C" NOT NULL,
    member_id   text COLLATE "C" NOT NULL,
    created_at  text COLLATE "C" NOT NULL,
    expires_at  text COLLATE "C" NOT NULL,
    ended_at    text COLLATE "C"
);
CREATE INDEX invitations_by_member ON invitations (company_id, member_id);

CREATE TABLE member_groups (
    company_id  text COLLATE "C" NOT NULL,
    name        text COLLATE "C" NOT NULL,
    updated_at  text COLLATE "C" NOT NULL,
    updated_by  text COLLATE "C" NOT NULL,
    PRIMARY KEY (company_id, name)
);
CREATE TABLE group_members (
    company_id  text COLLATE "C" NOT NULL,
    group_name  text COLLATE "C" NOT NULL,
    member_id   text COLLATE "C" NOT NULL,
    PRIMARY KEY (company_id, group_name, member_id)
);

-- Keys of services and agents, by their hash. A deleted one stays, since what was done with it names it.
CREATE TABLE api_keys (
    company_id    text COLLATE "C" NOT NULL,
    id            text COLLATE "C" NOT NULL,
    name          text COLLATE "C" NOT NULL,
    kind          text COLLATE "C" NOT NULL,
    role          text COLLATE "C" NOT NULL,
    prefix        text COLLATE "C" NOT NULL,
    key_hash      bytea NOT NULL,
    created_at    text COLLATE "C" NOT NULL,
    created_by    text COLLATE "C" NOT NULL,
    expires_at    text COLLATE "C",
    last_used_at  text COLLATE "C",
    deleted_at    text COLLATE "C",
    noted_at      timestamptz,
    PRIMARY KEY (company_id, id)
);
CREATE INDEX api_keys_by_hash ON api_keys (key_hash);
CREATE INDEX api_keys_by_id ON api_keys (id);
CREATE INDEX api_keys_by_noted ON api_keys (noted_at) WHERE noted_at IS NOT NULL;

-- What a company asks of its people, as canonical JSON; `number` counts the changes.
CREATE TABLE policies (
    company_id  text COLLATE "C" NOT NULL PRIMARY KEY,
    policy      text COLLATE "C" NOT NULL,
    number      bigint NOT NULL,
    updated_at  text COLLATE "C" NOT NULL,
    updated_by  text COLLATE "C" NOT NULL,
    noted_at    timestamptz
);
CREATE INDEX policies_by_noted ON policies (noted_at) WHERE noted_at IS NOT NULL;

-- Second factors; one counts from `confirmed_at`, and no more without a secret. `number` counts the changes,
-- `last_step` is the time step of the last code that was used.
CREATE TABLE second_factors (
    company_id     text COLLATE "C" NOT NULL,
    user_id        text COLLATE "C" NOT NULL,
    number         bigint NOT NULL,
    sealed_secret  bytea,
    created_at     text COLLATE "C" NOT NULL,
    confirmed_at   text COLLATE "C",
    last_step      bigint NOT NULL DEFAULT 0,
    noted_at       timestamptz,
    PRIMARY KEY (company_id, user_id)
);
CREATE INDEX second_factors_by_user ON second_factors (user_id);
CREATE INDEX second_factors_by_noted ON second_factors (noted_at) WHERE noted_at IS NOT NULL;

-- Links for a new password, by the hash of their token; `ended_at` is when the password was changed.
CREATE TABLE password_resets (
    token_hash  bytea NOT NULL PRIMARY KEY,
    company_id  text COLLATE "C" NOT NULL,
    user_id     text COLLATE "C" NOT NULL,
    created_at  text COLLATE "C" NOT NULL,
    expires_at  text COLLATE "C" NOT NULL,
    ended_at    text COLLATE "C"
);
CREATE INDEX password_resets_by_user ON password_resets (user_id);
CREATE INDEX password_resets_by_end ON password_resets (expires_at);

-- Users by the subject that an OpenID provider names; `company_id` is the one that they came to by it.
CREATE TABLE sso_subjects (
    issuer      text COLLATE "C" NOT NULL,
    subject     text COLLATE "C" NOT NULL,
    company_id  text COLLATE "C" NOT NULL,
    user_id     text COLLATE "C" NOT NULL,
    created_at  text COLLATE "C" NOT NULL,
    PRIMARY KEY (issuer, subject)
);

-- What a session began with: a password, or single sign-on.
ALTER TABLE sessions ADD COLUMN via text COLLATE "C" NOT NULL DEFAULT 'password';
