"""Exit codes, those of sysexits.h where one fits."""

REFUSED = 1
UNREACHABLE = 69
CLOCK_SKEWED = 71
"""The clock of this machine and that of the database are too far apart."""
STORE_FAILED = 74
SUPERSEDED = 76
"""Another daemon has migrated the database that both use to a newer schema."""
NOT_AUTHENTICATED = 77
CONFIG = 78
