"""What of a response enters a run."""
