-- Published versions of the companies' own templates; `document` is canonical JSON under its digest.
-- `noted_at` is when other daemons were to look.
CREATE TABLE own_templates (
    company_id    text COLLATE "C" NOT NULL,
    vertical      text COLLATE "C" NOT NULL,
    version       bigint NOT NULL,
    digest        text COLLATE "C" NOT NULL,
    title         text COLLATE "C" NOT NULL,
    document      text COLLATE "C" NOT NULL,
    published_at  text COLLATE "C" NOT NULL,
    published_by  text COLLATE "C" NOT NULL,
    retired_at    text COLLATE "C",
    retired_by    text COLLATE "C",
    noted_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (company_id, vertical, version)
);
CREATE INDEX own_templates_by_digest ON own_templates (company_id, digest);
CREATE INDEX own_templates_by_noted ON own_templates (noted_at);

-- What is being written; it may break rules, and nothing runs by it.
CREATE TABLE template_drafts (
    company_id  text COLLATE "C" NOT NULL,
    vertical    text COLLATE "C" NOT NULL,
    digest      text COLLATE "C" NOT NULL,
    title       text COLLATE "C" NOT NULL,
    document    text COLLATE "C" NOT NULL,
    saved_at    text COLLATE "C" NOT NULL,
    saved_by    text COLLATE "C" NOT NULL,
    PRIMARY KEY (company_id, vertical)
);
