-- Runs that say they are at rest and wait for nobody. There should be none, so that to look for them costs nothing.
CREATE INDEX runs_forgotten ON runs (company_id, id)
    WHERE resting = 1 AND (status = 'executing' OR (status = 'parked' AND parked = ''));
