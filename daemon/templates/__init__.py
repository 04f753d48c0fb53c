"""Process templates: documents, schemas, CEL, and those shipped."""
