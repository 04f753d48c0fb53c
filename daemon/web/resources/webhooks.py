"""Webhooks: make, read, change, forget, try; what was delivered, and again."""

from __future__ import annotations

import base64
from typing import Any

from aiohttp import web

from actors.ports import Receipt
from daemon.contract.base import Empty
from daemon.contract.webhooks import WebhookDefinition
from daemon.identity.accounts import Principal
from daemon.model.webhooks import WEBHOOKS_MAX, TooManyWebhooks, Webhook, WebhookDraft
from daemon.runtime.json_codec import dumps, loads
from daemon.web import render
from daemon.web.bodies import page_limit, parse, read
from daemon.web.idempotency import IDEMPOTENCY, IdempotencyKey, idempotent
from daemon.web.middleware.auth import principal_of
from daemon.web.parameters import ID
from daemon.web.problems import invalid, not_found
from daemon.web.responses import JSON, StoredResponse, from_cursor, from_number, json_response, page_response
from daemon.web.services import SERVICES, Services


async def _created_before(request: web.Request, _: IdempotencyKey, receipt: Receipt) -> StoredResponse:
    """The response of an earlier request, byte for byte."""
    kept: dict[str, Any] = loads(receipt.body)
    sealed = base64.b64decode(kept.pop("sealed"))
    secret = await request.app[SERVICES].webhooks.reveal(receipt.company_id, kept["id"], sealed)
    status, body, headers = _shown({**kept, "secret": secret})
    return StoredResponse(status, body, {**headers, "Idempotency-Replayed": "true"})


@idempotent(_created_before)
async def create(request: web.Request, raw: dict[str, Any], key: IdempotencyKey | None) -> StoredResponse:
    """POST /webhooks/."""
    services, body = request.app[SERVICES], parse(WebhookDefinition, raw)
    await _check(services, body.url)
    return await _created(services, _wanted(principal_of(request), body), key)


async def index(request: web.Request) -> web.Response:
    """GET /webhooks/."""
    limit, after = page_limit(request), from_cursor(request, "webhooks", ID) or ""
    every = await request.app[SERVICES].webhooks.all(principal_of(request).company_id)
    found = [one for one in every if one.id > after]
    return page_response(request, found, limit, "webhooks", name=lambda last: last.id, show=render.webhook)


async def show(request: web.Request) -> web.Response:
    """GET /webhooks/{webhook_id}."""
    company_id, webhook_id = _key(request)
    one = await request.app[SERVICES].webhooks.one(company_id, webhook_id)
    if one is None:
        raise not_found()
    return json_response(render.webhook(one))


async def put(request: web.Request) -> web.Response:
    """PUT /webhooks/{webhook_id}."""
    services, (company_id, webhook_id) = request.app[SERVICES], _key(request)
    body, _ = await read(request, WebhookDefinition, body_s=services.settings.body_s)
    if await services.webhooks.one(company_id, webhook_id) is None:
        raise not_found()
    await _check(services, body.url)
    one = await services.webhooks.change(_wanted(principal_of(request), body), webhook_id)
    if one is None:
        raise not_found()
    return json_response(render.webhook(one))


async def delete(request: web.Request) -> web.Response:
    """DELETE /webhooks/{webhook_id}."""
    principal = principal_of(request)
    if not await request.app[SERVICES].webhooks.delete(*_key(request), principal.email, principal.via):
        raise not_found()
    return web.Response(status=204)


async def test(request: web.Request) -> web.Response:
    """POST /webhooks/{webhook_id}/test."""
    services = request.app[SERVICES]
    await read(request, Empty, body_s=services.settings.body_s, optional=True)
    tested = await services.webhooks.test(*_key(request))
    if tested is None:
        raise not_found()
    return json_response(tested)


async def deliveries(request: web.Request) -> web.Response:
    """GET /webhooks/{webhook_id}/deliveries."""
    limit, before = page_limit(request), from_number(request, "deliveries")
    found = await request.app[SERVICES].webhooks.deliveries(*_key(request), before, limit + 1)
    if found is None:
        raise not_found()
    return page_response(request, found, limit, "deliveries", name=lambda last: last.number, show=render.delivery)


async def _redelivered(request: web.Request, key: IdempotencyKey, _: Receipt) -> StoredResponse:
    return await _redeliver(request, {}, key)


async def _redeliver(request: web.Request, raw: dict[str, Any], key: IdempotencyKey | None) -> StoredResponse:
    """POST /webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver."""
    parse(Empty, raw)
    one = await request.app[SERVICES].webhooks.redeliver(*_key(request), request.match_info["delivery_id"])
    if one is None:
        raise not_found()
    response = StoredResponse(202, dumps(render.delivery(one)), {"Content-Type": JSON})
    if key is not None:
        await request.app[IDEMPOTENCY].keep(key.receipt(response))
    return response


redeliver = idempotent(_redelivered, optional=True)(_redeliver)


def _key(request: web.Request) -> tuple[str, str]:
    """The company and the webhook that the path names."""
    webhook_id = request.match_info["webhook_id"]
    if not ID.fullmatch(webhook_id):
        raise not_found()
    return principal_of(request).company_id, webhook_id


def _wanted(principal: Principal, body: WebhookDefinition) -> WebhookDraft:
    events = None if body.events is None else tuple(dict.fromkeys(body.events))
    return WebhookDraft(principal.company_id, body.url, events, body.description, principal.email, principal.via)


async def _check(services: Services, url: str) -> None:
    """422 for what may not be called from here."""
    if (refusal := services.url_policy.mistake(url) or await services.url_policy.refusal(url)) is not None:
        raise invalid(("/url", refusal))


async def _created(services: Services, wanted: WebhookDraft, key: IdempotencyKey | None) -> StoredResponse:
    """Make the webhook; the receipt keeps the answer with the secret still sealed."""

    def made(webhook: Webhook) -> Receipt | None:
        if key is None:
            return None
        sealed = base64.b64encode(webhook.sealed_secret).decode()
        return key.sealed_receipt(dumps({**render.webhook(webhook), "sealed": sealed}))

    try:
        webhook, secret = await services.webhooks.create(wanted, made)
    except TooManyWebhooks:
        raise invalid(("", f"a company has at most {WEBHOOKS_MAX} webhooks")) from None
    return _shown({**render.webhook(webhook), "secret": secret})


def _shown(webhook: dict[str, Any]) -> StoredResponse:
    return StoredResponse(201, dumps(webhook), {"Content-Type": JSON, "Location": f"/webhooks/{webhook['id']}"})
