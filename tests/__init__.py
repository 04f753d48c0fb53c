"""The tests of Penstock.

Python keeps what it compiles here, whatever the environment says: each worker, and each of the
hundreds of processes that tests start, would compile the whole tree again.
"""

import os
import sys

sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
