"""One verdict per gate: concurrent verdicts are recorded, and the record is checked for
linearizability.
"""
