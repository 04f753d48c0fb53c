"""Power cuts: what the service wrote and synced is recorded, cut anywhere, and opened again as a disk could have kept it."""
