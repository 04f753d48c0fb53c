"""What a command and the page of the service both show of a sign-in."""

from __future__ import annotations

import hashlib

HALF = 1_000


def number_of(challenge: str) -> str:
    """The short number of a sign-in, by the challenge that begins it."""
    digits = int.from_bytes(hashlib.sha256(challenge.encode()).digest()[:8], "big") % (HALF * HALF)
    return f"{digits // HALF:03d} {digits % HALF:03d}"
