-- Notifications are webhooks to people: `kind` is their channel, `terms` is JSON of whom they are for, and when.
ALTER TABLE webhooks ADD COLUMN kind text NOT NULL DEFAULT 'events';
ALTER TABLE webhooks ADD COLUMN terms text;
-- The member whom a mail to a group is for.
ALTER TABLE webhook_deliveries ADD COLUMN recipient text COLLATE "C";

-- Up to which position the events of a company have become notifications; `epoch` is of the daemon that does that.
CREATE TABLE notifiers (
    company_id       text COLLATE "C" PRIMARY KEY,
    cursor_position  bigint NOT NULL,
    cursor_nth       bigint NOT NULL,
    epoch            bigint NOT NULL DEFAULT 0
);
