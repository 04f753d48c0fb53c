"""What callers send and receive, as models: the one definition for the service, the client and OpenAPI."""
