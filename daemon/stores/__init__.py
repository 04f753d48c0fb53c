"""Everything durable: the journal and its neighbours, in SQLite or in PostgreSQL."""
