"""Companies and their people."""
