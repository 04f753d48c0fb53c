"""Process templates: documents, schemas, CEL conditions, and those that are shipped."""
