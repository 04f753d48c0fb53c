-- When something of a run is due next: a deadline, a reminder, or the end of a wait. `reviewed` is 1 where people or the
-- calendar of the company decide about its open gates or waits, so that a change of those looks at it again.
ALTER TABLE runs ADD COLUMN wake_at TEXT;
ALTER TABLE runs ADD COLUMN reviewed INTEGER NOT NULL DEFAULT 0;
CREATE INDEX runs_due ON runs (wake_at) WHERE wake_at IS NOT NULL;
CREATE INDEX runs_reviewed ON runs (company_id, id) WHERE reviewed = 1;
