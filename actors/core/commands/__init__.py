"""What each command does to a run."""
