"""Probes: each does one thing that has stopped the service once, beside a measurer that is a
process of its own.
"""
