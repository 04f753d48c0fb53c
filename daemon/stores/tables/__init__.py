"""The tables that both databases have in common: each query once, the few that differ side by side."""
