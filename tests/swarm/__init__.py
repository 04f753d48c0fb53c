"""A swarm of agents, people who decide, and daemons that die: what reached the outside, and why."""
