"""SQLite: the store of one daemon."""
