-- Up to which position every commit has its leaf. Behind it a company that reads its own evidence is sealed apart.
CREATE TABLE audit_sealed (
    sole      INTEGER PRIMARY KEY CHECK (sole = 1),
    position  INTEGER NOT NULL
) STRICT;
INSERT INTO audit_sealed SELECT 1, coalesce(max(position), 0) FROM audit_leaves;
