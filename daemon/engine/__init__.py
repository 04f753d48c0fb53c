"""What moves runs: actors, outgoing calls, timers, and what other daemons have changed."""
