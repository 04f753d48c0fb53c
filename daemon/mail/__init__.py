"""Mail to people: what it says, and how it is sent."""
