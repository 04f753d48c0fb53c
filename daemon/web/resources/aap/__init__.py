"""The provider of the Agent Approval Protocol, below `/aap/`."""
