"""The page in a browser, against a running service."""
