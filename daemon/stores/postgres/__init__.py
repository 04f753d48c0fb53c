"""PostgreSQL: the store that several daemons share."""
