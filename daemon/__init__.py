"""The shell around the actors: HTTP, stores, connectors, and the process that holds them together."""
