-- What each company has stored, counted up to a position of its commits.
CREATE TABLE company_usage (
    company_id  text COLLATE "C" NOT NULL PRIMARY KEY,
    runs        bigint NOT NULL,
    bytes       bigint NOT NULL,
    position    bigint NOT NULL
);
