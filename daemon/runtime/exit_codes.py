"""Exit codes, those of sysexits.h where one fits."""

REFUSED = 1
UNREACHABLE = 69
STORE_FAILED = 74
NOT_AUTHENTICATED = 77
CONFIG = 78
