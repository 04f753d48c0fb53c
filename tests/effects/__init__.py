"""What reaches the outside: how often, when it may, and whether it is what a human saw."""
