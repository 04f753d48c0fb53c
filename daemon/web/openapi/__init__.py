"""The contract as OpenAPI 3.1, for programs and for people."""
