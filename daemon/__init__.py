"""The daemon around the actors: HTTP, stores, connectors and the process."""
