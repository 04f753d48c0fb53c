"""Secrets that sign webhook messages: the newest first, earlier ones while they overlap it."""

from __future__ import annotations

import base64
import secrets
from datetime import datetime

PREFIX = "whsec_"
SECRET_BYTES = 32
SECRETS_MAX = 3
"""How many sign a message at most."""


def new_secret() -> str:
    return PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def rotated(kept: str, new: str, until: datetime, now: datetime) -> str:
    """What is kept once a new secret is made: those before it sign, too, until then at most."""
    newest, *earlier = counting(kept, now)
    ends = dict(one.partition("@")[::2] for one in kept.split(" ")[1:])
    stamp = int(until.timestamp())
    still = [(newest, stamp), *((one, min(stamp, int(ends[one]))) for one in earlier)]
    overlapping = [f"{one}@{end}" for one, end in still[: SECRETS_MAX - 1] if end > now.timestamp()]
    return " ".join([new, *overlapping])


def counting(kept: str, now: datetime) -> list[str]:
    """The secrets that sign now, the newest first."""
    newest, *earlier = kept.split(" ")
    ended = (one.partition("@")[::2] for one in earlier)
    return [newest, *(secret for secret, end in ended if now.timestamp() < int(end))]


def newest(kept: str) -> str:
    return kept.partition(" ")[0]
