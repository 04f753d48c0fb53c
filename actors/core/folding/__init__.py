"""What events make of visits: the parts of `evolve`."""
