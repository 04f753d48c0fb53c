"""What is cleared by judges of known bias, and how often that is wrong."""
