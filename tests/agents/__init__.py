"""The programs of docs/agents.md with their frameworks, which have an environment of their own."""
