"""The service behind the proxies that the installation guide configures."""
