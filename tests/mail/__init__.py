"""Mail: how it is set up, written and sent."""
