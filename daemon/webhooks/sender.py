"""Signed webhook messages, by Standard Webhooks.

https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec
import structlog

from actors.core.calls import Connector, Request
from actors.ports import StoreFailed
from daemon.connectors.http import HttpConnector, HttpResponse, SendFailed
from daemon.connectors.responses import succeeded, why_not
from daemon.keys.vault import NOTIFICATION_TARGET, WEBHOOK_SECRET, SealBroken, Vault
from daemon.model.webhooks import Webhook
from daemon.runtime.background import where_raised
from daemon.runtime.json_codec import dumps
from daemon.webhooks.backoff import Result
from daemon.webhooks.secrets import PREFIX, counting, open_url

TIMEOUT_S = 15.0
_log = structlog.get_logger("penstock")


@dataclass(frozen=True, slots=True)
class WebhookMessage:
    """One attempt to deliver to a webhook; its secret is still sealed."""

    company_id: str
    webhook_id: str
    url: str
    sealed_secret: bytes
    message_id: str
    body: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ChannelMessage:
    """One attempt to deliver a notification by HTTP; its URL and secret are still sealed."""

    company_id: str
    webhook_id: str
    sealed_target: bytes
    message_id: str
    body: dict[str, Any]


class ChannelTarget(msgspec.Struct, frozen=True):
    """Where a notification goes; what is sent there is signed where it has secrets."""

    url: str
    secret: str | None = None


Notify = Callable[[WebhookMessage], Awaitable[HttpResponse]]
PostToChannel = Callable[[ChannelMessage], Awaitable[HttpResponse]]


def message_of(webhook: Webhook, message_id: str, body: dict[str, Any]) -> WebhookMessage:
    return WebhookMessage(webhook.company_id, webhook.id, webhook.url, webhook.sealed_secret, message_id, body)


async def attempt(sending: Awaitable[HttpResponse], webhook_id: str) -> Result:
    """How an attempt to send once ended; a response that is too large counts by its status."""
    try:
        answer = await sending
    except SendFailed as failed:
        return Result(failed.status_code, None, failed.detail, failed.retry_after_s)
    except StoreFailed:
        raise
    except Exception as fault:  # noqa: BLE001 - it counts as an attempt, or it would be repeated for ever
        where = where_raised(fault)
        _log.error("webhook_attempt_crashed", webhook_id=webhook_id, error=type(fault).__name__, where=where)
        return Result(None, None, "The attempt broke inside the service.")
    error = None if succeeded(answer.status) else why_not(answer)
    return Result(answer.status, answer.latency_ms, error, answer.retry_after_s)


def payload(kind: str, at: datetime, data: dict[str, Any]) -> dict[str, Any]:
    """The payload of Standard Webhooks: type, timestamp and data."""
    plain: dict[str, Any] = msgspec.json.decode(dumps({"type": kind, "timestamp": at, "data": data}))
    return plain


@dataclass(frozen=True, slots=True)
class WebhookSender:
    """Opens the webhook's secret, signs, and sends once."""

    _http: HttpConnector
    _vault: Vault
    _now: Callable[[], datetime]

    async def send(self, message: WebhookMessage) -> HttpResponse:
        secret = await self._opened(message.company_id, message.webhook_id, WEBHOOK_SECRET, message.sealed_secret)
        try:
            url = await open_url(self._vault, message.company_id, message.webhook_id, message.url)
        except SealBroken as broken:
            raise SendFailed("secret_unreadable", str(broken)) from None
        return await self._send(message, ChannelTarget(url, secret))

    async def post(self, message: ChannelMessage) -> HttpResponse:
        """Send a notification to a URL that is a secret itself."""
        key = (message.company_id, message.webhook_id)
        target = await self._opened(*key, NOTIFICATION_TARGET, message.sealed_target)
        return await self._send(message, msgspec.json.decode(target, type=ChannelTarget))

    async def _opened(self, company_id: str, webhook_id: str, field: str, sealed: bytes) -> str:
        try:
            return await self._vault.open(company_id, webhook_id, field, sealed)
        except SealBroken as broken:
            raise SendFailed("secret_unreadable", str(broken)) from None

    async def _send(self, message: WebhookMessage | ChannelMessage, target: ChannelTarget) -> HttpResponse:
        request = Request(tool=message.webhook_id, mode="live", method="POST", url=target.url, body=message.body)
        connector = Connector(message.webhook_id, 0, target.url, "POST", "", retries=0)
        headers = {}
        if target.secret is not None:
            stamp, body = int(self._now().timestamp()), await self._http.written(message.body)
            # The client writes the body as canonical JSON, so these are the bytes that are sent.
            signed = [signature(one, message.message_id, stamp, body) for one in counting(target.secret, self._now())]
            headers = {
                "webhook-id": message.message_id,
                "webhook-timestamp": str(stamp),
                "webhook-signature": " ".join(signed),
            }
        return await self._http.send(request, secret=None, connector=connector, headers=headers, timeout_s=TIMEOUT_S)


def signature(secret: str, message_id: str, stamp: int, body: bytes) -> str:
    """HMAC-SHA256 over message id, time of the attempt in seconds, and body."""
    key = base64.b64decode(secret.removeprefix(PREFIX))
    digest = hmac.new(key, f"{message_id}.{stamp}.".encode() + body, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(digest).decode()}"
