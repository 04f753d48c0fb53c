"""HTTP: what callers see of the service."""
