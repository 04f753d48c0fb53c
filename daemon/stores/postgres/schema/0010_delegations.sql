-- The business days of a company, as canonical JSON; `number` counts the changes.
CREATE TABLE calendars (
    company_id  text COLLATE "C" NOT NULL PRIMARY KEY,
    calendar    text COLLATE "C" NOT NULL,
    number      bigint NOT NULL,
    updated_at  text COLLATE "C" NOT NULL,
    updated_by  text COLLATE "C" NOT NULL
);

-- Who may decide as another member for a time; both are ids of members, `verticals` is a JSON array, empty for all.
-- `ended_at` is when one was ended before its time. An ended one stays, since the log names it.
CREATE TABLE delegations (
    company_id  text COLLATE "C" NOT NULL,
    id          text COLLATE "C" NOT NULL,
    giver       text COLLATE "C" NOT NULL,
    recipient   text COLLATE "C" NOT NULL,
    begins_at   text COLLATE "C" NOT NULL,
    ends_at     text COLLATE "C" NOT NULL,
    verticals   text COLLATE "C" NOT NULL,
    created_at  text COLLATE "C" NOT NULL,
    ended_at    text COLLATE "C",
    PRIMARY KEY (company_id, id)
);
CREATE INDEX delegations_by_end ON delegations (company_id, ends_at) WHERE ended_at IS NULL;

-- When groups, policy, calendar or delegations of a company were changed last: other daemons look for recent ones.
CREATE TABLE company_changes (
    company_id  text COLLATE "C" NOT NULL PRIMARY KEY,
    noted_at    timestamptz NOT NULL
);
CREATE INDEX company_changes_by_noted ON company_changes (noted_at);
