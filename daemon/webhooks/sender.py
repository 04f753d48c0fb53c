"""Signed webhook messages, by Standard Webhooks.

https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from actors.core.calls import Connector, Request
from actors.core.canonical import canonical
from daemon.connectors.http import HttpConnector, HttpResponse, SendFailed
from daemon.keys.vault import WEBHOOK_SECRET, SealBroken, Vault

PREFIX = "whsec_"
SECRET_BYTES = 32
TIMEOUT_S = 15.0


@dataclass(frozen=True, slots=True)
class WebhookMessage:
    """One attempt to deliver to a webhook; its secret is still sealed."""

    company_id: str
    webhook_id: str
    url: str
    sealed_secret: bytes
    message_id: str
    body: dict[str, Any]


class WebhookSender:
    """Opens the webhook's secret, signs, and sends once."""

    def __init__(self, http: HttpConnector, vault: Vault, now: Callable[[], datetime]) -> None:
        self._http = http
        self._vault = vault
        self._now = now

    async def send(self, message: WebhookMessage) -> HttpResponse:
        """Sign and send a message; SendFailed without a response."""
        try:
            secret = await self._vault.open(
                message.company_id, message.webhook_id, WEBHOOK_SECRET, message.sealed_secret
            )
        except SealBroken as broken:
            raise SendFailed("secret_unreadable", str(broken)) from None
        request = Request(tool=message.webhook_id, mode="live", method="POST", url=message.url, body=message.body)
        connector = Connector(message.webhook_id, 0, message.url, "POST", "", retries=0)
        stamp = int(self._now().timestamp())
        # The client writes the body as canonical JSON, so these are the bytes that are sent.
        headers = {
            "webhook-id": message.message_id,
            "webhook-timestamp": str(stamp),
            "webhook-signature": signature(secret, message.message_id, stamp, canonical(message.body).encode()),
        }
        return await self._http.send(request, secret=None, connector=connector, headers=headers, timeout_s=TIMEOUT_S)


def new_secret() -> str:
    return PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def signature(secret: str, message_id: str, stamp: int, body: bytes) -> str:
    """HMAC-SHA256 over message id, time of the attempt in seconds, and body."""
    key = base64.b64decode(secret.removeprefix(PREFIX))
    digest = hmac.new(key, f"{message_id}.{stamp}.".encode() + body, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(digest).decode()}"
