"""Reports against a recount: random histories, counted from batch to batch and all at once."""
