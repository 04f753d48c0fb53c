"""What stays of runs in place of their events."""
