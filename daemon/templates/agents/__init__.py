"""Rules about the calls of agents, and the documents that actions run by."""
