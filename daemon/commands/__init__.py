"""The commands, each group in a module of its own."""
