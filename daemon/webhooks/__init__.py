"""Webhooks: who is told of a company's events, and how the telling goes."""
