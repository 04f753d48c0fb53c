"""Webhooks: what receivers get, when, and how often."""
