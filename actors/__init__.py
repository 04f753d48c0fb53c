"""The domain of Penstock and the actors that hold it: the standard library and msgspec only."""
