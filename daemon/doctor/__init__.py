"""Checks of everything the service depends on, with advice; changes nothing."""
