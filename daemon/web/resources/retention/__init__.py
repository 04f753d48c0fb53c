"""Legal holds and archives of runs."""
