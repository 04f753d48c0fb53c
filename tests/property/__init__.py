"""What holds for whatever is thrown at the core."""
