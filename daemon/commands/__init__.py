"""The commands that look after a data folder, each in a module of its own."""
