"""The domain of Penstock and the actors that hold it: standard library only."""
