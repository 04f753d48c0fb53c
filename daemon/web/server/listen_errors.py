"""Says why an address cannot be listened on, and which setting names another."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def explained(address: str, variable: str) -> Iterator[None]:
    """Turn an OSError of listening into one with a sentence for the operator."""
    try:
        yield
    except OSError as error:
        why = error.strerror if isinstance(error, socket.gaierror) or error.errno is None else os.strerror(error.errno)
        raise OSError(f"{address} cannot be listened on: {why}. Choose another with {variable}.") from None
