"""The provider of the Agent Approval Protocol, asked by its public client."""
