"""Notifications: what people and groups are told of, and what they were told."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Any

from aiohttp import web

from actors.ports import Receipt
from daemon.contract import webhooks as contract
from daemon.contract.base import Empty
from daemon.model.budgets import BudgetExceeded
from daemon.model.events.company import NotificationTerms, StoredQuietHours
from daemon.model.webhooks import StoredDelivery, StoredWebhook, TooManyWebhooks
from daemon.notifications.service import NotificationDraft
from daemon.runtime.json_codec import dumps
from daemon.web.bodies import page_limit, parse, read
from daemon.web.idempotency import IdempotencyKey, idempotent, receipt_maker
from daemon.web.middleware.auth import principal_of
from daemon.web.operations import KEYED, PAGED, Operation
from daemon.web.parameters import ID
from daemon.web.problems import existing, invalid, pointer
from daemon.web.rate_limits import RATE_LIMITS
from daemon.web.resources.accounts import refusing
from daemon.web.resources.pages import page_response
from daemon.web.resources.run_commands import sight_of
from daemon.web.resources.webhooks import created, replay_secret, rotate, rotation, sealed_receipt
from daemon.web.responses import JSON, StoredResponse, from_cursor, from_number, json_response
from daemon.web.services import SERVICES

NO_LINKS = "needs links to the page, and the service does not know its address: PENSTOCK_PUBLIC_URL is not set"
NO_MAIL = "is not offered: the service sends no mail, as PENSTOCK_SMTP_URL is not set"


_created = partial(created, where="notifications")


@Operation(
    "Create a notification",
    "notify",
    contract.NewNotificationRule,
    201,
    contract.NotificationDefinition,
    headers=KEYED,
    problems=(409, 507),
)
@idempotent(replay_secret(lambda services: services.notifications, _created))
async def create_notification(request: web.Request, raw: dict[str, Any], key: IdempotencyKey | None) -> StoredResponse:
    """Has the caller, or with `group` a group, told of gates and runs from now on.

    That of a group needs the role `admin`. A gate is for those who may decide there. The URL is
    kept sealed and never shown again; the secret that signs what a `webhook` gets is shown once.
    """
    services, principal = request.app[SERVICES], principal_of(request)
    draft = await _draft(request, await parse(request, contract.NotificationDefinition, raw), None)

    def receipt(made: StoredWebhook) -> Receipt | None:
        return sealed_receipt(key, made, _json(made))

    await services.stored.store_more(principal.company_id)
    with refusing():
        try:
            made, secret = await services.notifications.create(principal, draft, receipt)
        except TooManyWebhooks:
            most = services.settings.company_notifications_max
            detail = f"A company has at most {most} notifications."
            raise BudgetExceeded("company_notifications", most, detail) from None
    return _created({**_json(made), "secret": secret})


@Operation("List notifications", "notify", list[contract.NotificationRule], query=PAGED)
async def list_notifications(request: web.Request) -> web.Response:
    """The caller's own, and for an admin those of groups."""
    limit, after = page_limit(request), from_cursor(request, "notifications", ID) or ""
    every = await request.app[SERVICES].notifications.visible(principal_of(request))
    found = [one for one in every if one.id > after]
    return await page_response(request, found, limit, "notifications", name=lambda last: last.id, show=_json)


@Operation("Get a notification", "notify", contract.NotificationRule)
async def get_notification(request: web.Request) -> web.Response:
    """A notification of the caller's, or of a group."""
    return json_response(_json(await _one(request)))


@Operation(
    "Change a notification",
    "notify",
    contract.NotificationRule,
    request=contract.NotificationDefinition,
    problems=(409,),
)
async def put_notification(request: web.Request) -> web.Response:
    """Changes a notification; `kind` and `group` stay, and without `url` the one that it has."""
    services, before = request.app[SERVICES], await _one(request)
    body = await read(request, contract.NotificationDefinition)
    draft = await _draft(request, body, before)
    after = await services.notifications.change(principal_of(request), before, draft)
    return json_response(_json(existing(after)))


@Operation(
    "Rotate the secret of a notification",
    "notify",
    contract.RotatedSecret,
    request=contract.SecretRotation,
    headers=KEYED,
    problems=(404, 409),
)
@idempotent(replay_secret(lambda services: services.notifications, rotation), optional=True)
async def rotate_notification(request: web.Request, raw: dict[str, Any], key: IdempotencyKey | None) -> StoredResponse:
    """Makes a new secret for one of the kind `webhook`, as that of a webhook is rotated."""
    services, before = request.app[SERVICES], await _one(request)
    make = partial(services.notifications.rotate, principal_of(request), before)
    return await rotate(request, raw, key, make)


@Operation("Delete a notification", "notify", status=204, problems=(409,))
async def delete_notification(request: web.Request) -> web.Response:
    """Forgets a notification and its deliveries."""
    one = await _one(request)
    existing(await request.app[SERVICES].notifications.delete(principal_of(request), one) or None)
    return web.Response(status=204)


@Operation("Test a notification", "notify", contract.WebhookTestResult, request=Empty)
async def test_notification(request: web.Request) -> web.Response:
    """Sends a test once and now, whatever the quiet hours; a group's mail to the caller alone."""
    services, principal, one = request.app[SERVICES], principal_of(request), await _one(request)
    await read(request, Empty)
    await request.app[RATE_LIMITS].test(principal.company_id)
    return json_response((await services.notifications.test(principal, one)).model_dump())


@Operation("List the deliveries of a notification", "notify", list[contract.NotificationDelivery], query=PAGED)
async def list_notification_deliveries(request: web.Request) -> web.Response:
    """What was sent or waits to be, newest first; what waits for quiet hours has their end.

    What an admin sees of a group's leaves runs out that are closed to them.
    """
    services, one = request.app[SERVICES], await _one(request)
    limit, before = page_limit(request), from_number(request, "notification-deliveries")
    found = await services.notifications.deliveries(one, before, limit + 1, sight=await sight_of(request))
    show = partial(_delivery_json, held_until=await services.notifications.held_until(one))
    name = "notification-deliveries"
    return await page_response(request, found, limit, name, name=lambda last: last.number, show=show)


@Operation("Redeliver a notification", "notify", contract.NotificationDelivery, 202, Empty, headers=KEYED)
@idempotent(optional=True)
async def redeliver_notification(
    request: web.Request, raw: dict[str, Any], key: IdempotencyKey | None
) -> StoredResponse:
    """Sends it once more, with the same id, even if nobody needs to be told any more."""
    await parse(request, Empty, raw)
    notifications, one = request.app[SERVICES].notifications, await _one(request)
    held_until = await notifications.held_until(one)

    def answer(found: StoredDelivery) -> StoredResponse:
        return StoredResponse(202, dumps(_delivery_json(found, held_until)), {"Content-Type": JSON})

    return answer(
        existing(await notifications.redeliver(one, request.match_info["delivery_id"], receipt_maker(key, answer)))
    )


async def _one(request: web.Request) -> StoredWebhook:
    """The notification that the path names; 404 for one that the caller may not see."""
    services, notification_id = request.app[SERVICES], request.match_info["notification_id"]
    return existing(await services.notifications.one(principal_of(request), notification_id))


async def _draft(
    request: web.Request, body: contract.NotificationDefinition, before: StoredWebhook | None
) -> NotificationDraft:
    """The wanted notification; 422 with all that is wrong with it."""
    wrong = [*_wrong_channel(request, body, before), *await _wrong_terms(request, body, before)]
    if wrong:
        raise invalid(*wrong)
    quiet = body.quiet_hours
    terms = NotificationTerms(
        member_id=principal_of(request).member_id if body.group is None else None,
        group=body.group,
        verticals=tuple(sorted(set(body.verticals or ()))),
        quiet_hours=None
        if quiet is None
        else StoredQuietHours(begins=quiet.begins, ends=quiet.ends, timezone=quiet.timezone),
        digest=body.digest,
    )
    events = tuple(dict.fromkeys(body.events))
    return NotificationDraft(body.kind, events, terms, body.description, body.enabled, body.url)


def _wrong_channel(
    request: web.Request, body: contract.NotificationDefinition, before: StoredWebhook | None
) -> list[tuple[str, str]]:
    services, wrong = request.app[SERVICES], []
    if before is not None and body.kind != before.kind:
        wrong.append(("/kind", "cannot be changed; create another notification"))
    if not services.settings.public_url:
        wrong.append(("/kind", NO_LINKS))
    elif body.kind == "email" and services.mails is None:
        wrong.append(("/kind", NO_MAIL))
    if body.kind == "email":
        wrong += [("/url", "is not for e-mail, which goes to the members' addresses")] if body.url is not None else []
    elif body.url is None:
        wrong += [("/url", "is required")] if before is None else []
    elif refusal := services.url_policy.mistake(body.url) or services.url_policy.refusal(body.url):
        wrong.append(("/url", refusal))
    return wrong


async def _wrong_terms(
    request: web.Request, body: contract.NotificationDefinition, before: StoredWebhook | None
) -> list[tuple[str, str]]:
    services, company_id, wrong = request.app[SERVICES], principal_of(request).company_id, []
    if before is not None and before.terms is not None and body.group != before.terms.group:
        wrong.append(("/group", "cannot be changed; create another notification"))
    elif body.group is not None and body.group not in {one.name for one in await services.store.groups(company_id)}:
        wrong.append(("/group", "is no group of the company"))
    for place, vertical in enumerate(body.verticals or ()):
        if not await services.catalog.has(company_id, vertical):
            wrong.append((pointer("verticals", place), "is no process template"))
    if body.quiet_hours is not None and body.quiet_hours.begins == body.quiet_hours.ends:
        wrong.append((pointer("quiet_hours", "to"), "is the time at which they begin"))
    return wrong


def _json(one: StoredWebhook) -> dict[str, Any]:
    terms = existing(one.terms)
    quiet = terms.quiet_hours
    return contract.NotificationRule.view(
        one,
        member_id=terms.member_id,
        group=terms.group,
        verticals=terms.verticals or None,
        url=one.url or None,
        quiet_hours=quiet and {"from": quiet.begins, "to": quiet.ends, "timezone": quiet.timezone},
        digest=terms.digest,
        disabled_reason=one.reason,
    )


def _delivery_json(one: StoredDelivery, held_until: datetime | None) -> dict[str, Any]:
    next_at = one.next_at
    if next_at is not None and held_until is not None:
        next_at = max(next_at, held_until)
    return contract.NotificationDelivery.view(one, last_attempt_at=one.last_at, next_attempt_at=next_at)
