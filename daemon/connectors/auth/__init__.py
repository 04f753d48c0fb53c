"""Credentials of calls, and masking of secrets in responses."""
