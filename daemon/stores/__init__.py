"""Everything durable: the journal and its neighbours, in SQLite, in PostgreSQL or in memory.

What is named for neither database is for both; but `connection`, `engine`, `inspection`, `backups`, `trouble` and
`upgrade` are SQLite's.
"""
