"""Deciding about calls of agents."""
