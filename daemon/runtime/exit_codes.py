"""The codes with which a command ends, beside 0; the numbers of sysexits.h where there is one that fits."""

REFUSED = 1
UNREACHABLE = 69
STORE_FAILED = 74
NOT_AUTHENTICATED = 77
CONFIG = 78
