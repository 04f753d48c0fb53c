"""The commands about what is sent to people and programs."""
