"""Middlewares: one job each."""
