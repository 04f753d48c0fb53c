"""Key files, their rotation, and the vault."""
