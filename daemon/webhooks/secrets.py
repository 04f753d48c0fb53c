"""The secrets of webhooks: their URLs, and what signs deliveries."""

from __future__ import annotations

import base64
import secrets
from datetime import datetime
from urllib.parse import urlsplit

from daemon.keys.vault import WEBHOOK_URL, Vault

MARK = "#sealed:"
"""What parts an origin from the sealed URL; a URL that may be called has no fragment."""
PREFIX = "whsec_"
SECRET_BYTES = 32
SECRETS_MAX = 3
"""How many sign a message at most."""


def shown_url(kept: str) -> str:
    """What is shown of a URL as it is kept, sealed or not: its origin, and that there is more."""
    url = kept.partition(MARK)[0]
    parts = urlsplit(url)
    origin = f"{parts.scheme}://{parts.netloc}"
    return origin if url in (origin, "") else f"{origin}/…"


async def seal_url(vault: Vault, company_id: str, webhook_id: str, url: str) -> str:
    """What is kept of a URL; SealBroken where the vault fails. An origin alone is no secret."""
    shown = shown_url(url)
    if shown == url:
        return url
    sealed = await vault.seal(company_id, webhook_id, WEBHOOK_URL, url)
    return f"{shown}{MARK}{base64.b64encode(sealed).decode()}"


async def open_url(vault: Vault, company_id: str, webhook_id: str, kept: str) -> str:
    """The URL to call; SealBroken where it cannot be opened. One from before is kept as it is."""
    _, mark, sealed = kept.partition(MARK)
    if not mark:
        return kept
    return await vault.open(company_id, webhook_id, WEBHOOK_URL, base64.b64decode(sealed))


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
