"""Models of requests and responses, which service, client and OpenAPI share."""
