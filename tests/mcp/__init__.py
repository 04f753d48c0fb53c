"""Agents at the service, by the official SDK."""
