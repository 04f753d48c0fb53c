"""What agents do, and what they are served by."""
