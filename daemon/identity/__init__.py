"""Accounts, tokens and passwords."""
