"""The pure core: what a run does next, without IO, clock or randomness."""
