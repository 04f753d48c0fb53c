"""The commands about who may do what."""
