"""Several daemons on one PostgreSQL, with faults in between: what was acknowledged stays, and
nothing happens twice.
"""
