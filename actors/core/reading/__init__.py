"""Need to know: who may read a run, and whom it is about."""
