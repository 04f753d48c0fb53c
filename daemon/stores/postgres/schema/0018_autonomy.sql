-- What a company lets be cleared without a human, as canonical JSON; `number` counts the changes. Other daemons look
-- for those that were noted lately.
CREATE TABLE autonomies (
    company_id  text COLLATE "C" NOT NULL PRIMARY KEY,
    autonomy    text COLLATE "C" NOT NULL,
    number      bigint NOT NULL,
    updated_at  text COLLATE "C" NOT NULL,
    updated_by  text COLLATE "C" NOT NULL,
    noted_at    timestamptz NOT NULL
);
CREATE INDEX autonomies_by_noted ON autonomies (noted_at);
