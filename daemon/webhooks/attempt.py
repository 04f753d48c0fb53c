"""One attempt to deliver to a webhook."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

from daemon.connectors.http import HttpResponse, SendFailed
from daemon.connectors.results import succeeded, why_not
from daemon.model.webhooks import Webhook
from daemon.runtime.json_codec import dumps
from daemon.webhooks.backoff import Result
from daemon.webhooks.sender import WebhookMessage

Notify = Callable[[WebhookMessage], Awaitable[HttpResponse]]


async def attempt(notify: Notify, webhook: Webhook, message_id: str, body: dict[str, Any]) -> Result:
    """Send a message once; a response that is too large counts by its status."""
    message = WebhookMessage(webhook.company_id, webhook.id, webhook.url, webhook.sealed_secret, message_id, body)
    try:
        answer = await notify(message)
    except SendFailed as failed:
        return Result(failed.status_code, None, failed.detail, failed.retry_after_s)
    error = None if succeeded(answer.status) else why_not(answer)
    return Result(answer.status, answer.latency_ms, error, answer.retry_after_s)


def message(kind: str, at: datetime, data: dict[str, Any]) -> dict[str, Any]:
    """The payload of Standard Webhooks: type, timestamp and data."""
    plain: dict[str, Any] = json.loads(dumps({"type": kind, "timestamp": at, "data": data}))
    return plain
