"""Instances of the Agent Approval Protocol: agents' keys that a platform makes for its agents."""

from __future__ import annotations

import base64
from functools import partial
from typing import Any

from aiohttp import web
from pydantic import ValidationError

from actors.core.messages import Cancel, Rejected
from actors.ports import Receipt
from daemon.aap import exact, shapes
from daemon.aap.instances import ChallengeFailed, InstanceChange
from daemon.aap.shapes import AapMisfit, Destination, status_of
from daemon.connectors.egress import UrlPolicy
from daemon.identity.tokens import Principal
from daemon.model.actions import ActionQuery, StoredInstance
from daemon.model.budgets import BudgetExceeded
from daemon.model.people.credentials import KeyNameTaken, StoredApiKey, TooManyApiKeys
from daemon.runtime.json_codec import dumps, loads
from daemon.web.idempotency import IDEMPOTENCY, IdempotencyKey
from daemon.web.incoming import beside_loop
from daemon.web.middleware.admission import slot_released
from daemon.web.middleware.auth import permit_again, principal_of
from daemon.web.operations import KEYED, Operation
from daemon.web.parameters import ID
from daemon.web.problems import HttpProblem, not_found
from daemon.web.resources.aap.requests import conflict, fitting, json_body, key_of, misfit
from daemon.web.resources.run_commands import current
from daemon.web.responses import JSON, StoredResponse, json_response
from daemon.web.services import SERVICES, Services

INSTANCES = "/aap/v1/instances"
PAGE = 200


@Operation("Make an instance", "provision", status=201, headers=KEYED)
async def create_instance(request: web.Request) -> web.Response:
    """Makes an agent's key of that name; a place that is told of decisions is verified before."""
    principal, text = principal_of(request), key_of(request)
    body = await json_body(request)
    name, delivery = fitting(shapes.provisioned, exact.held(body))
    key = await _keyed(request, principal, INSTANCES, text, body)
    begin, repeat = partial(_create, request, principal, key, name, delivery), partial(_created_before, request)
    return (await request.app[IDEMPOTENCY].answer(key, begin, repeat, partial(permit_again, request))).response()


@Operation("Get an instance", "provision")
async def get_instance(request: web.Request) -> web.Response:
    """An instance with where it is told of decisions, without any secret."""
    one = await _find(request)
    if one is None or one.deleted_at is not None:
        raise not_found()
    return json_response(await _json(request.app[SERVICES], one.company_id, _kept(one)))


@Operation("Change an instance", "provision", headers=KEYED)
async def change_instance(request: web.Request) -> web.Response:
    """Changes its name, or where it is told of decisions; its agent keeps the name of its key."""
    principal, text = principal_of(request), key_of(request)
    body = await json_body(request)
    change = InstanceChange(*fitting(shapes.repatched, exact.held(body)))
    found = await _find(request)
    if found is None:
        raise not_found()
    key = await _keyed(request, principal, f"{INSTANCES}/{found.id}", text, body)
    execute = partial(_change, request, principal, key, found.id, change)
    return (
        await request.app[IDEMPOTENCY].answer(
            key, execute, partial(_changed_before, request), partial(permit_again, request)
        )
    ).response()


@Operation("Delete an instance", "provision", status=204)
async def delete_instance(request: web.Request) -> web.Response:
    """Deletes an instance: its credential counts nowhere, and what it asked for is cancelled."""
    services, principal = request.app[SERVICES], principal_of(request)
    found = await _find(request)
    gone = None if found is None else await services.instances.delete(principal, found.id)
    if gone is None:
        raise not_found()
    await _cancel_all(services, principal, gone.key_id)
    return web.Response(status=204)


async def _keyed(request: web.Request, principal: Principal, path: str, text: str, body: Any) -> IdempotencyKey:
    digest = await beside_loop(request, partial(exact.fingerprint, body))
    return IdempotencyKey(principal.company_id, path, text, digest, principal.user_id, principal.email)


async def _create(
    request: web.Request, principal: Principal, key: IdempotencyKey, name: str | None, delivery: Destination | None
) -> StoredResponse:
    services = request.app[SERVICES]
    _check_url(services.url_policy, delivery)
    await services.stored.store_more(principal.company_id)

    def receipt(one: StoredInstance, made: StoredApiKey, sealed: bytes) -> Receipt:
        kept = {"key_id": made.id, "sealed": base64.b64encode(sealed).decode()}
        return key.sealed_receipt(dumps({**_kept(one), **kept}))

    try:
        with slot_released():
            made = await services.instances.create(principal, name, delivery, receipt)
    except ValidationError:
        raise misfit(AapMisfit("has to be a name of 1 to 100 printable characters", "instance_name")) from None
    except ChallengeFailed:
        raise _not_verified() from None
    except KeyNameTaken:
        raise conflict("already_exists", "There is a live API key of this name.") from None
    except TooManyApiKeys:
        most = services.settings.company_api_keys_max
        raise BudgetExceeded("company_api_keys", most, f"A company has at most {most} API keys.") from None
    return _provisioned(201, _shown(_kept(made.instance), delivery and delivery.url), made.secret)


async def _created_before(request: web.Request, receipt: Receipt) -> StoredResponse:
    """The same instance with the same credential, unless it was deleted meanwhile."""
    services, kept = request.app[SERVICES], loads(receipt.body)
    one = await services.instances.one(receipt.company_id, kept["id"])
    if one is None or one.deleted_at is not None:
        raise conflict("instance_deleted", "The instance was deleted; a new one needs a new key.")
    sealed = base64.b64decode(kept["sealed"])
    secret = await services.api_keys.reveal(receipt.company_id, kept["key_id"], sealed)
    return _provisioned(200, await _json(services, receipt.company_id, kept), secret)


async def _change(
    request: web.Request, principal: Principal, key: IdempotencyKey, instance_id: str, change: InstanceChange
) -> StoredResponse:
    services = request.app[SERVICES]
    _check_url(services.url_policy, change.delivery)
    try:
        with slot_released():
            changed = await services.instances.change(
                principal, instance_id, change, lambda one: key.sealed_receipt(dumps(_kept(one)))
            )
    except ChallengeFailed:
        raise _not_verified() from None
    if changed is None:
        raise not_found()
    return await _changed(services, principal.company_id, _kept(changed))


async def _changed_before(request: web.Request, receipt: Receipt) -> StoredResponse:
    return await _changed(request.app[SERVICES], receipt.company_id, loads(receipt.body))


async def _changed(services: Services, company_id: str, kept: dict[str, Any]) -> StoredResponse:
    return StoredResponse(200, dumps(await _json(services, company_id, kept)), {"Content-Type": JSON})


async def _cancel_all(services: Services, principal: Principal, key_id: str) -> None:
    """Cancel all that the instance asked for and nobody has decided on."""
    at_most: str | None = None
    while True:
        query = ActionQuery(limit=PAGE, before=at_most, agent_id=key_id, status="parked")
        page = await services.store.actions(principal.company_id, query)
        for row in page:
            at_most, key = row.run_id, (row.company_id, row.run_id)
            run = await current(services, key)
            if row.way != "aap" or run is None or status_of(run) != "pending":
                continue
            message = Cancel(by=principal.email, by_kind=principal.kind, via=principal.via, at=services.now())
            done = await services.directory.ask(key, message)
            assert not isinstance(done, Rejected) or done.code == "not_cancellable"  # noqa: S101 - it was decided meanwhile
        if len(page) < PAGE:
            return


async def _find(request: web.Request) -> StoredInstance | None:
    instance_id, company_id = request.match_info["instance_id"], principal_of(request).company_id
    return await request.app[SERVICES].instances.one(company_id, instance_id) if ID.fullmatch(instance_id) else None


def _check_url(policy: UrlPolicy, delivery: Destination | None) -> None:
    """400 for a URL that is not called from here; one without TLS only where it was opened."""
    if delivery is None:
        return
    why = policy.mistake(delivery.url) or policy.refusal(delivery.url)
    if why is None and not delivery.url.lower().startswith("https:") and not policy.takes_plain(delivery.url):
        why = "It has to begin with https://."
    if why is not None:
        raise misfit(AapMisfit(f"cannot be called: {why.rstrip('.')}", "delivery.url", "invalid_webhook_url"))


def _not_verified() -> HttpProblem:
    detail = "The receiver did not answer the challenge with 200 and the same challenge within 10 seconds."
    return HttpProblem("webhook_verification_failed", detail, {"param": "delivery.url"}, other_status=422)


def _kept(one: StoredInstance) -> dict[str, Any]:
    """What is kept of an answer: where the instance is told of decisions is sealed."""
    url = None if one.sealed_url is None else one.sealed_url.decode()
    return {"id": one.id, "name": one.name, "url": url, "registration_id": one.registration_id}


async def _json(services: Services, company_id: str, kept: dict[str, Any]) -> dict[str, Any]:
    return _shown(kept, await services.instances.url(company_id, kept["id"], kept["url"]))


def _shown(kept: dict[str, Any], url: str | None) -> dict[str, Any]:
    delivery = {"type": "webhook", "url": url, "registration_id": kept["registration_id"]}
    return {"id": kept["id"], "name": kept["name"], **({} if url is None else {"delivery": delivery})}


def _provisioned(status: int, instance: dict[str, Any], secret: str) -> StoredResponse:
    body = dumps({"instance": instance, "credential": {"token": secret}})
    return StoredResponse(status, body, {"Content-Type": JSON})


ROUTES: tuple[tuple[str, str, Any], ...] = (
    ("POST", INSTANCES, create_instance),
    ("GET", f"{INSTANCES}/{{instance_id}}", get_instance),
    ("PATCH", f"{INSTANCES}/{{instance_id}}", change_instance),
    ("DELETE", f"{INSTANCES}/{{instance_id}}", delete_instance),
)
