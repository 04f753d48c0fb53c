-- Since when a daemon knows what others have changed of tokens and connectors; they wait for that before they answer.
ALTER TABLE daemons ADD COLUMN heard timestamptz NOT NULL DEFAULT clock_timestamp();
