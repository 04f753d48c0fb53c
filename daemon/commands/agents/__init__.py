"""What agents may do, and what they did, in a terminal."""
