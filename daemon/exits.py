"""The codes with which a command ends, beside 0; the numbers of sysexits.h where there is one that fits."""

REFUSED = 1
STORE_FAILED = 74
CONFIG = 78
