"""Archives runs that ended long ago: an export that verifies, and hashes in its place."""
