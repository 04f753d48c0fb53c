"""What a gate shows of the calls of agents."""
