"""What the hash chain has of events in place of their values."""
