"""Notifications: people are told of gates and runs that concern them."""
