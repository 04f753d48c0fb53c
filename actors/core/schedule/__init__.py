"""Durations, calendars, and the times at which something is due."""
