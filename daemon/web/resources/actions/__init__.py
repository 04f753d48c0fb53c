"""Actions of agents: what decides about them."""
