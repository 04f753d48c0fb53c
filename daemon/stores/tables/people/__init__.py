"""Policies and second factors."""
