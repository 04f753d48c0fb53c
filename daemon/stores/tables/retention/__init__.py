"""The tables of legal holds and archives."""
