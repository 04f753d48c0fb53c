"""Webhooks: make, read, change, forget, try; what was delivered, and again."""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from aiohttp import web

from actors.core.people import ACTIONS, refusal
from actors.ports import Receipt
from daemon.contract import webhooks as contract
from daemon.contract.base import Empty
from daemon.identity.accounts import Principal
from daemon.model.budgets import BudgetExceeded
from daemon.model.event_log import EventIds
from daemon.model.webhooks import StoredDelivery, StoredWebhook, TooManyWebhooks, WebhookDraft
from daemon.notifications.service import NotificationService
from daemon.runtime.json_codec import dumps, loads
from daemon.web.bodies import page_limit, parse, path_key, read
from daemon.web.idempotency import FinishRequest, IdempotencyKey, idempotent, receipt_maker
from daemon.web.middleware.auth import principal_of
from daemon.web.operations import KEYED, PAGED, Operation
from daemon.web.parameters import ID
from daemon.web.problems import existing, invalid, not_found
from daemon.web.rate_limits import RATE_LIMITS
from daemon.web.resources.pages import page_response
from daemon.web.resources.run_commands import sight_of
from daemon.web.responses import JSON, StoredResponse, from_cursor, from_number, json_response
from daemon.web.services import SERVICES, Services
from daemon.webhooks.sender import shown_url
from daemon.webhooks.service import WebhookService

Rotate = Callable[[datetime, Callable[[StoredWebhook], Receipt | None]], Awaitable[tuple[StoredWebhook, str] | None]]


def replay_secret(
    service_of: Callable[[Services], WebhookService | NotificationService],
    answer: Callable[[dict[str, Any]], StoredResponse],
) -> FinishRequest:
    """Gives an earlier response with a secret again, which its receipt keeps sealed."""

    async def again(request: web.Request, _: IdempotencyKey, receipt: Receipt) -> StoredResponse:
        said: dict[str, Any] = loads(receipt.body)
        sealed = base64.b64decode(said.pop("sealed"))
        secret = await service_of(request.app[SERVICES]).reveal(receipt.company_id, said["id"], sealed)
        return answer({**said, "secret": secret}).as_replay()

    return again


def created(webhook: dict[str, Any], where: str = "webhooks") -> StoredResponse:
    return StoredResponse(201, dumps(webhook), {"Content-Type": JSON, "Location": f"/{where}/{webhook['id']}"})


def rotation(shown: dict[str, Any]) -> StoredResponse:
    body = {name: shown[name] for name in ("secret", "overlap_until")}
    return StoredResponse(200, dumps(body), {"Content-Type": JSON})


def sealed_receipt(key: IdempotencyKey | None, one: StoredWebhook, shown: dict[str, Any]) -> Receipt | None:
    """The receipt of a response with the secret, which it keeps sealed."""
    sealed = base64.b64encode(one.sealed_secret).decode()
    return None if key is None else key.sealed_receipt(dumps({**shown, "sealed": sealed}))


@Operation(
    "Create a webhook",
    "webhooks",
    contract.NewWebhook,
    201,
    contract.WebhookDefinition,
    headers=KEYED,
    problems=(409, 507),
)
@idempotent(replay_secret(lambda services: services.webhooks, created))
async def create_webhook(request: web.Request, raw: dict[str, Any], key: IdempotencyKey | None) -> StoredResponse:
    """Has the events of all runs sent to a URL from now on.

    The secret that signs them is shown this once; the URL is kept sealed, and its origin shown.
    """
    services, body = request.app[SERVICES], await parse(request, contract.WebhookDefinition, raw)
    _check(services, body.url)

    def receipt(webhook: StoredWebhook) -> Receipt | None:
        return sealed_receipt(key, webhook, _webhook_json(webhook))

    await services.stored.store_more(principal_of(request).company_id)
    try:
        webhook, secret = await services.webhooks.create(_draft(principal_of(request), body), receipt)
    except TooManyWebhooks:
        most = services.settings.company_webhooks_max
        raise BudgetExceeded("company_webhooks", most, f"A company has at most {most} webhooks.") from None
    return created({**_webhook_json(webhook), "secret": secret})


@Operation("List webhooks", "read", list[contract.Webhook], query=PAGED)
async def list_webhooks(request: web.Request) -> web.Response:
    """The company's webhooks, without their secrets; of a URL the origin is shown."""
    limit, after = page_limit(request), from_cursor(request, "webhooks", ID) or ""
    every = await request.app[SERVICES].webhooks.all(principal_of(request).company_id)
    found = [one for one in every if one.id > after]
    return await page_response(request, found, limit, "webhooks", name=lambda last: last.id, show=_webhook_json)


@Operation("Get a webhook", "read", contract.Webhook)
async def get_webhook(request: web.Request) -> web.Response:
    """A webhook, without its secret."""
    return json_response(_webhook_json(existing(await request.app[SERVICES].webhooks.one(*_key(request)))))


@Operation("Change a webhook", "webhooks", contract.Webhook, request=contract.WebhookDefinition, problems=(409,))
async def put_webhook(request: web.Request) -> web.Response:
    """Changes a webhook and enables it. Its secret stays, and its URL where it is as shown."""
    services, (company_id, webhook_id) = request.app[SERVICES], _key(request)
    body = await read(request, contract.WebhookDefinition)
    existing(await services.webhooks.one(company_id, webhook_id))
    _check(services, body.url)
    one = await services.webhooks.change(_draft(principal_of(request), body), webhook_id)
    return json_response(_webhook_json(existing(one)))


async def rotate(request: web.Request, raw: dict[str, Any], key: IdempotencyKey | None, make: Rotate) -> StoredResponse:
    """Rotate a secret of a webhook or notification."""
    body = await parse(request, contract.SecretRotation, raw)
    until = request.app[SERVICES].now() + timedelta(seconds=body.overlap_s)

    def receipt(one: StoredWebhook) -> Receipt | None:
        return sealed_receipt(key, one, {"id": one.id, "overlap_until": until})

    _, secret = existing(await make(until, receipt))
    return rotation({"secret": secret, "overlap_until": until})


@Operation(
    "Rotate the secret of a webhook",
    "webhooks",
    contract.RotatedSecret,
    request=contract.SecretRotation,
    headers=KEYED,
    problems=(404, 409),
)
@idempotent(replay_secret(lambda services: services.webhooks, rotation), optional=True)
async def rotate_webhook(request: web.Request, raw: dict[str, Any], key: IdempotencyKey | None) -> StoredResponse:
    """Makes a new secret, shown this once. For a time messages have a signature by each of the two.

    What waits to be delivered stays. With an overlap of 0 the secret before counts no more.
    """
    webhook_id = request.match_info["webhook_id"]
    make = partial(request.app[SERVICES].webhooks.rotate, principal_of(request), webhook_id)
    return await rotate(request, raw, key, make)


@Operation("Delete a webhook", "webhooks", status=204, problems=(409,))
async def delete_webhook(request: web.Request) -> web.Response:
    """Forgets a webhook and its deliveries."""
    webhook_id = request.match_info["webhook_id"]
    if not await request.app[SERVICES].webhooks.delete(principal_of(request), webhook_id):
        raise not_found()
    return web.Response(status=204)


@Operation("Test a webhook", "webhooks", contract.WebhookTestResult, request=Empty)
async def test_webhook(request: web.Request) -> web.Response:
    """Sends a signed message of the type `webhook.test`, once and now."""
    services = request.app[SERVICES]
    await read(request, Empty)
    await request.app[RATE_LIMITS].test(principal_of(request).company_id)
    return json_response(existing(await services.webhooks.test(*_key(request))).model_dump())


@Operation("List the deliveries of a webhook", "read", list[contract.Delivery], query=PAGED)
async def list_deliveries(request: web.Request) -> web.Response:
    """What was sent to a webhook or waits to be, newest first.

    Whoever manages webhooks sees that something happened in each run, others in those they read.
    """
    principal, limit, before = principal_of(request), page_limit(request), from_number(request, "deliveries")
    manages = principal.reads is None and refusal(principal.role, principal.kind, ACTIONS["webhooks"]) is None
    sight = None if manages else await sight_of(request)
    found = existing(await request.app[SERVICES].webhooks.deliveries(*_key(request), before, limit + 1, sight=sight))
    show = partial(_delivery_json, ids=request.app[SERVICES].store.event_ids)
    return await page_response(request, found, limit, "deliveries", name=lambda last: last.number, show=show)


@Operation("Redeliver an event", "webhooks", contract.Delivery, 202, Empty, headers=KEYED)
@idempotent(optional=True)
async def redeliver(request: web.Request, raw: dict[str, Any], key: IdempotencyKey | None) -> StoredResponse:
    """Sends an event to a webhook once more, with the same id."""
    await parse(request, Empty, raw)
    services, delivery_id = request.app[SERVICES], request.match_info["delivery_id"]

    def answer(one: StoredDelivery) -> StoredResponse:
        return StoredResponse(202, dumps(_delivery_json(one, services.store.event_ids)), {"Content-Type": JSON})

    return answer(existing(await services.webhooks.redeliver(*_key(request), delivery_id, receipt_maker(key, answer))))


def _key(request: web.Request) -> tuple[str, str]:
    return path_key(request, "webhook_id")


def _draft(principal: Principal, body: contract.WebhookDefinition) -> WebhookDraft:
    events = None if body.events is None else tuple(dict.fromkeys(body.events))
    who = (principal.email, principal.via, principal.kind, principal.caller)
    return WebhookDraft(principal.company_id, body.url, events, body.description, *who)


def _check(services: Services, url: str) -> None:
    """422 for what may not be called from here."""
    if (refusal := services.url_policy.mistake(url) or services.url_policy.refusal(url)) is not None:
        raise invalid(("/url", refusal))


def _webhook_json(one: StoredWebhook) -> dict[str, Any]:
    return contract.Webhook.view(one, url=shown_url(one.url), disabled_reason=one.reason)


def _delivery_json(one: StoredDelivery, ids: EventIds) -> dict[str, Any]:
    event_id = ids.encode(one.company_id, one.position, one.mark)
    return contract.Delivery.view(one, event_id=event_id, last_attempt_at=one.last_at, next_attempt_at=one.next_at)
