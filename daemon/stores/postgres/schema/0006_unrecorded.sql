-- Checkpoints that the service's own tree does not cover yet.
CREATE TABLE audit_unrecorded (
    company_id  text COLLATE "C" NOT NULL,
    size        bigint NOT NULL,
    PRIMARY KEY (company_id, size)
);
INSERT INTO audit_unrecorded SELECT company_id, max(size) FROM audit_checkpoints WHERE company_id <> '' GROUP BY company_id;
