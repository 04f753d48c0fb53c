"""The keys that sign and encrypt, their rotation, and the vault of secrets."""
