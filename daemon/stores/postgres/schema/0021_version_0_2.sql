-- What was begun for a run at a version, so that an evaluation under which a daemon ended is not repeated.
CREATE TABLE evaluations_begun (
    company_id  text COLLATE "C" NOT NULL,
    run_id      text COLLATE "C" NOT NULL,
    version     bigint NOT NULL,
    begun_by    bigint NOT NULL,
    PRIMARY KEY (company_id, run_id)
);

-- What proved a session, separated by blanks, and the session of the provider; those of before have none. The session in
-- which a second factor was confirmed has proven it.
ALTER TABLE sessions ADD COLUMN amr text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN provider_sid text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE second_factors ADD COLUMN session_id text COLLATE "C" NOT NULL DEFAULT '';
CREATE INDEX sessions_by_provider ON sessions (provider_sid) WHERE provider_sid <> '';
CREATE INDEX sso_subjects_by_user ON sso_subjects (user_id);

-- Whether a key may say for whom it starts a run.
ALTER TABLE api_keys ADD COLUMN acts_for boolean NOT NULL DEFAULT false;

-- Who saved the draft of a version, who made the key that published it, and the gates that it makes laxer, as JSON.
ALTER TABLE own_templates ADD COLUMN drafted_by text COLLATE "C";
ALTER TABLE own_templates ADD COLUMN made_by text COLLATE "C";
ALTER TABLE own_templates ADD COLUMN loosened text COLLATE "C";
