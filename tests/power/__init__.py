"""Power cuts: what the service writes and syncs is recorded, cut anywhere, and opened as a disk
could have kept it.
"""
