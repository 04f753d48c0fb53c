-- Notifications are webhooks to people: `kind` is their channel, `terms` is JSON of whom they are for, and when.
ALTER TABLE webhooks ADD COLUMN kind TEXT NOT NULL DEFAULT 'events';
ALTER TABLE webhooks ADD COLUMN terms TEXT;
-- The member whom a mail to a group is for.
ALTER TABLE webhook_deliveries ADD COLUMN recipient TEXT;

-- Up to which position the events of a company have become notifications.
CREATE TABLE notifiers (
    company_id       TEXT PRIMARY KEY,
    cursor_position  INTEGER NOT NULL,
    cursor_nth       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
