"""The queries of both databases: each once, with the few that differ side by side."""
