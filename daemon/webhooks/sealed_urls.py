"""URLs that are credentials: their origin is shown, the whole is sealed behind it."""

from __future__ import annotations

import base64
from urllib.parse import urlsplit

from daemon.keys.vault import WEBHOOK_URL, Vault

MARK = "#sealed:"
"""What parts an origin from the sealed URL; a URL that may be called has no fragment."""


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
