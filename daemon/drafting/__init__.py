"""First drafts of processes from words: the closest template, or a new graph by rules."""
