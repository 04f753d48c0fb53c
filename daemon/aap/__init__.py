"""The Agent Approval Protocol: agents ask whether they may make a call, and make it themselves."""
