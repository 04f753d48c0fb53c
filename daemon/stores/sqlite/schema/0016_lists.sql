-- Who may decide at an open gate: what it asks (`asked`, JSON), whom four eyes exclude by what happened in the run, and
-- who has decided already. The rows come anew, since only their runs know it: the service lists each when it starts.
DELETE FROM open_gates;
DELETE FROM gate_words;
ALTER TABLE open_gates ADD COLUMN asked TEXT NOT NULL DEFAULT '';
ALTER TABLE open_gates ADD COLUMN barred TEXT NOT NULL DEFAULT '';
ALTER TABLE open_gates ADD COLUMN decided TEXT NOT NULL DEFAULT '';

-- What is counted and listed for one person, and the order by risk and age: both at a cost that does not grow.
CREATE INDEX open_gates_by_asked ON open_gates (company_id, asked, decided, barred);
CREATE INDEX open_gates_by_risk ON open_gates (company_id, substr(place, instr(place, '|') + 1));

-- Runs by the time of their start; partial, so that it serves those alone who ask for a time, and say so.
CREATE INDEX runs_by_creation ON runs (company_id, created_at, id) WHERE created_at <> '';

-- The search index of runs: words of what each started with. Rows are added beside the commits, which do not pay for it;
-- `search_progress` is the position of the last commit that was looked at.
CREATE VIRTUAL TABLE run_words USING fts5(words, detail='none');
CREATE TABLE search_progress (
    company_id  TEXT NOT NULL PRIMARY KEY,
    position    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What people search and filter by again and again; `query` is that of the page's address.
CREATE TABLE saved_views (
    company_id  TEXT NOT NULL,
    user_id     TEXT NOT NULL,
    list        TEXT NOT NULL,
    name        TEXT NOT NULL,
    query       TEXT NOT NULL,
    saved_at    TEXT NOT NULL,
    PRIMARY KEY (company_id, user_id, list, name)
) STRICT, WITHOUT ROWID;
