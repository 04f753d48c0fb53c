"""The daemon around the actors: HTTP, stores, connectors and the process."""

__version__ = "0.2.0"
