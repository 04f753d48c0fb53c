"""Begins to listen at an address; where that cannot be done it says which one, why, and what to set."""

from __future__ import annotations

import os
import socket

from aiohttp import web


async def begin(site: web.BaseSite, address: str, variable: str) -> None:
    """Listen; OSError with a sentence for whoever set the address."""
    try:
        await site.start()
    except OSError as error:
        why = error.strerror if isinstance(error, socket.gaierror) or error.errno is None else os.strerror(error.errno)
        raise OSError(f"{address} cannot be listened on: {why}. Choose another with {variable}.") from None
