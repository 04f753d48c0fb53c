"""Evidence of history: signed checkpoints, exports, and the evidence of a run."""
