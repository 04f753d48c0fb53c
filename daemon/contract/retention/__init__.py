"""How long runs are kept: legal holds and archives."""
