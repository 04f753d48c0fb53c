"""Notifications: who is told of what, when, and how often."""
