-- A run is looked up by its key. This index also begins with the company and ends with the id, so a plan made while the
-- table was small could take it for that, and read the whole company for one run: it must serve those alone who name a
-- status, and say so.
DROP INDEX runs_by_status;
CREATE INDEX runs_by_status ON runs (company_id, status, id) WHERE status <> '';
