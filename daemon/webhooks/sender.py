"""Signed webhook messages, by Standard Webhooks: their secrets, their attempts and results.

https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import random
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Protocol, TypeAlias
from urllib.parse import urlsplit

import msgspec
import structlog

from actors.core.calls import CallRequest, Connector
from actors.ports import INLINE, Compute, StoreFailed
from daemon.connectors.http import KEPT_S, HttpConnector, HttpResponse, SendFailed
from daemon.connectors.responses import succeeded, why_not
from daemon.contract.webhooks import WebhookTestResult
from daemon.keys.vault import NOTIFICATION_TARGET, WEBHOOK_SECRET, WEBHOOK_URL, SealBroken, Vault
from daemon.model.audit_events import HistoryRewound
from daemon.model.chain import HistoryBroken
from daemon.model.event_log import LoggedEvent, Position, event_json
from daemon.model.retention.records import HistoryArchived
from daemon.model.webhooks import StoredDelivery, StoredWebhook
from daemon.runtime.background import where_raised
from daemon.runtime.json_codec import dumps
from daemon.stores.store import Store

PAUSES_S = (5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400)
"""How long after each failed attempt the next one comes; after the last there is none."""
AAP_PAUSES_S = (5, 30, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400, 86_400, 86_400, 86_400, 66_000)
"""The same of the Agent Approval Protocol: for seven days; each pause is up to a tenth shorter."""

RETRY_AFTER_MAX_S = 86_400.0
GONE = 410
TIMEOUT_S = 15.0
ERROR_CHARS_MAX = 500


@dataclass(frozen=True, slots=True)
class Result:
    """The result of an attempt: a status, or an error; after a `final` one there is no other."""

    status_code: int | None
    latency_ms: int | None = None
    error: str | None = None
    retry_after_s: float | None = None
    final: bool = False

    @property
    def ok(self) -> bool:
        return self.status_code is not None and 200 <= self.status_code < 300  # noqa: PLR2004 - 2xx

    def tested(self) -> WebhookTestResult:
        return WebhookTestResult(ok=self.ok, status_code=self.status_code, latency_ms=self.latency_ms, error=self.error)


def pauses_of(kind: str) -> Sequence[float]:
    """How long after each failed attempt the next one comes, to a webhook of a kind."""
    if kind != "aap":
        return PAUSES_S
    return [pause * random.uniform(0.9, 1.0) for pause in AAP_PAUSES_S]  # noqa: S311 - nobody guesses it


def record_attempt(
    delivery: StoredDelivery, result: Result, at: datetime, pauses_s: Sequence[float] = PAUSES_S
) -> StoredDelivery:
    tries = delivery.tries + 1
    next_at = None if result.ok else _next(tries, result, at, pauses_s)
    return replace(
        delivery,
        status="delivered" if result.ok else "pending" if next_at is not None else "failed",
        attempts=delivery.attempts + 1,
        tries=tries,
        next_at=next_at,
        last_at=at,
        status_code=result.status_code,
        latency_ms=result.latency_ms,
        error=None if result.ok or result.error is None else result.error[:ERROR_CHARS_MAX],
    )


def record_skip(delivery: StoredDelivery, reason: str, at: datetime) -> StoredDelivery:
    """A delivery of what nobody needs to be told any more."""
    return replace(delivery, status="skipped", next_at=None, last_at=at, status_code=None, error=reason)


def _next(tries: int, result: Result, at: datetime, pauses_s: Sequence[float]) -> datetime | None:
    """The time of the next attempt; the receiver may ask for a later one."""
    if result.final or result.status_code == GONE or tries > len(pauses_s):
        return None
    asked_s = min(result.retry_after_s or 0.0, RETRY_AFTER_MAX_S)
    return at + timedelta(seconds=max(float(pauses_s[tries - 1]), asked_s))


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


def rotate_secret(kept: str, new: str, until: datetime, now: datetime) -> str:
    """What is kept once a new secret is made: those before it sign, too, until then at most."""
    newest, *earlier = active_secrets(kept, now)
    ends = dict(one.partition("@")[::2] for one in kept.split(" ")[1:])
    stamp = int(until.timestamp())
    still = [(newest, stamp), *((one, min(stamp, int(ends[one]))) for one in earlier)]
    overlapping = [f"{one}@{end}" for one, end in still[: SECRETS_MAX - 1] if end > now.timestamp()]
    return " ".join([new, *overlapping])


def active_secrets(kept: str, now: datetime) -> list[str]:
    """The secrets that sign now, the newest first."""
    newest, *earlier = kept.split(" ")
    ended = (one.partition("@")[::2] for one in earlier)
    return [newest, *(secret for secret, end in ended if now.timestamp() < int(end))]


def newest_secret(kept: str) -> str:
    return kept.partition(" ")[0]


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
    timeout_s: float = TIMEOUT_S


@dataclass(frozen=True, slots=True)
class ChannelMessage:
    """One attempt to deliver a notification by HTTP; its URL and secret are still sealed."""

    company_id: str
    webhook_id: str
    sealed_target: bytes
    message_id: str
    body: dict[str, Any]
    timeout_s: float = TIMEOUT_S


class ChannelTarget(msgspec.Struct, frozen=True):
    """Where a notification goes; what is sent there is signed where it has secrets."""

    url: str
    secret: str | None = None


Notify = Callable[[WebhookMessage], Awaitable[HttpResponse]]
PostToChannel = Callable[[ChannelMessage], Awaitable[HttpResponse]]


def message_of(webhook: StoredWebhook, message_id: str, body: dict[str, Any]) -> WebhookMessage:
    return WebhookMessage(webhook.company_id, webhook.id, webhook.url, webhook.sealed_secret, message_id, body)


async def attempt(sending: Awaitable[HttpResponse], webhook_id: str) -> Result:
    """How an attempt to send once ended; a response counts by its status, however its body ends."""
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
        request = CallRequest(tool=message.webhook_id, mode="live", method="POST", url=target.url, body=message.body)
        connector = Connector(message.webhook_id, 0, target.url, "POST", "", retries=0)
        headers = {}
        if target.secret is not None:
            stamp, body = int(self._now().timestamp()), await self._http.serialize(message.body)
            # The client writes the body as canonical JSON, so these are the bytes that are sent.
            signed = [
                signature(one, message.message_id, stamp, body) for one in active_secrets(target.secret, self._now())
            ]
            headers = {
                "webhook-id": message.message_id,
                "webhook-timestamp": str(stamp),
                "webhook-signature": " ".join(signed),
            }
        how: dict[str, Any] = {"headers": headers, "timeout_s": message.timeout_s, "kept_s": KEPT_S}
        return await self._http.send(request, secret=None, connector=connector, **how)


def signature(secret: str, message_id: str, stamp: int, body: bytes) -> str:
    """HMAC-SHA256 over message id, time of the attempt in seconds, and body."""
    key = base64.b64decode(secret.removeprefix(PREFIX))
    digest = hmac.new(key, f"{message_id}.{stamp}.".encode() + body, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(digest).decode()}"


AHEAD_BYTES_MAX = 256 * 1024
"""Of events that are read ahead for a round: their messages are made on the event loop."""
NOT_THERE = "The event is not in the journal any more."


@dataclass(frozen=True, slots=True)
class Sent:
    """How an attempt ended, None without one; and why deliveries were left out of it, by id."""

    result: Result | None
    skipped: Mapping[str, str] = field(default_factory=dict)


class Sending(Protocol):
    """Sends deliveries of one sort of webhook."""

    async def held_until(self, webhook: StoredWebhook) -> datetime | None:
        """When sending may go on; None for at once."""

    async def batches(
        self, webhook: StoredWebhook, due: Sequence[StoredDelivery]
    ) -> Sequence[Sequence[StoredDelivery]]:
        """Deliveries by the message that they go into."""

    async def send(self, webhook: StoredWebhook, batch: Sequence[StoredDelivery]) -> Sent:
        """Send one message, once."""


Choose: TypeAlias = Callable[[StoredWebhook, Sequence[LoggedEvent]], Awaitable[Sequence[LoggedEvent]]]
"""Those of the events that a webhook wants of which it is told."""
IsClosed: TypeAlias = Callable[[str, str], Awaitable[bool]]
"""Whether not everybody of a company may read a run of it."""
Show: TypeAlias = Callable[[LoggedEvent, StoredDelivery], dict[str, object]]


async def _never(_company_id: str, _run_id: str) -> bool:
    return False


class EventSending:
    """Sends each event as a message of its own, as soon as it is due."""

    def __init__(self, store: Store, notify: Notify, compute: Compute = INLINE, is_closed: IsClosed = _never) -> None:
        """`compute` makes the bodies of large events; those of runs that are closed say nothing."""
        self._is_closed = is_closed
        self._store = store
        self._notify = notify
        self._compute = compute
        self._read: dict[tuple[str, str], dict[Position, LoggedEvent]] = {}

    async def held_until(self, _: StoredWebhook) -> datetime | None:
        return None

    async def batches(
        self, webhook: StoredWebhook, due: Sequence[StoredDelivery]
    ) -> Sequence[Sequence[StoredDelivery]]:
        await self._read_ahead(webhook, due)
        return [(one,) for one in due]

    def forget(self) -> None:
        """Read events again: the database may have lost those that were read."""
        self._read.clear()

    async def _read_ahead(self, webhook: StoredWebhook, due: Sequence[StoredDelivery]) -> None:
        """Read the events of deliveries that follow one another; `send` reads any other itself."""
        self._read.pop(webhook.key, None)
        if len(due) > 1 and not webhook.failures:
            commit, nth = due[0].position
            with suppress(HistoryBroken):
                found = await self._store.read_after(webhook.company_id, Position(commit, nth - 1), len(due))
                if found.size <= AHEAD_BYTES_MAX:
                    self._read[webhook.key] = {one.position: one for one in found}

    async def send(self, webhook: StoredWebhook, batch: Sequence[StoredDelivery]) -> Sent:
        (delivery,) = batch
        ahead = self._read.get(webhook.key, {})
        one = ahead.pop(delivery.position, None)
        closed = await self._is_closed(delivery.company_id, delivery.run_id)
        show = self._withheld if closed else self._payload
        body = await self._body(delivery, show) if one is None else show(one, delivery)
        if not ahead:
            self._read.pop(webhook.key, None)
        if body is None:
            return Sent(Result(None, None, NOT_THERE, final=True))
        return Sent(await attempt(self._notify(message_of(webhook, delivery.id, body)), webhook.id))

    async def _body(self, delivery: StoredDelivery, show: Show) -> dict[str, object] | None:
        if delivery.run_id == delivery.company_id:
            return await self._rewound(delivery)
        try:
            found = await self._store.history(delivery.company_id, delivery.run_id, delivery.seq - 1, 1)
        except HistoryArchived:
            return None
        if not found:
            return None
        one = LoggedEvent(delivery.position, delivery.run_id, delivery.seq, found[0].event)
        return await self._compute.run_by_size(delivery.company_id, found.size, lambda: show(one, delivery))

    async def _rewound(self, delivery: StoredDelivery) -> dict[str, object]:
        """The body about an entry of the company's log, that history is lost."""
        [entry] = await self._store.logged(delivery.company_id, delivery.seq + 1, 1)
        told = msgspec.json.decode(entry.events, type=HistoryRewound)
        first = await self._store.place_id(delivery.company_id, Position(told.first, 0))
        return payload(delivery.type, told.at, {"commits": told.commits, "first": first})

    def _payload(self, one: LoggedEvent, delivery: StoredDelivery) -> dict[str, object]:
        event_id = self._store.event_ids.encode(delivery.company_id, delivery.position, delivery.mark)
        return payload(one.event.type, one.event.at, event_json(one, event_id))

    def _withheld(self, one: LoggedEvent, delivery: StoredDelivery) -> dict[str, object]:
        """That something happened, and nothing of what."""
        event_id = self._store.event_ids.encode(delivery.company_id, delivery.position, delivery.mark)
        said = {"seq": one.seq, "type": one.event.type, "at": one.event.at}
        data = {"id": event_id, "run_id": one.run_id, "seq": one.seq, "event": said, "withheld": True}
        return payload(one.event.type, one.event.at, data)
