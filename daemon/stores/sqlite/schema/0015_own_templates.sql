-- Published versions of the companies' own templates; `document` is canonical JSON under its digest.
CREATE TABLE own_templates (
    company_id    TEXT NOT NULL,
    vertical      TEXT NOT NULL,
    version       INTEGER NOT NULL,
    digest        TEXT NOT NULL,
    title         TEXT NOT NULL,
    document      TEXT NOT NULL,
    published_at  TEXT NOT NULL,
    published_by  TEXT NOT NULL,
    retired_at    TEXT,
    retired_by    TEXT,
    PRIMARY KEY (company_id, vertical, version)
) STRICT;
CREATE INDEX own_templates_by_digest ON own_templates (company_id, digest);

-- What is being written; it may break rules, and nothing runs by it.
CREATE TABLE template_drafts (
    company_id  TEXT NOT NULL,
    vertical    TEXT NOT NULL,
    digest      TEXT NOT NULL,
    title       TEXT NOT NULL,
    document    TEXT NOT NULL,
    saved_at    TEXT NOT NULL,
    saved_by    TEXT NOT NULL,
    PRIMARY KEY (company_id, vertical)
) STRICT;
