"""Outgoing calls, the egress guard, and connectors."""
