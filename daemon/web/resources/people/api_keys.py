"""API keys: create, list and delete."""

from __future__ import annotations

import base64
from typing import Any

from aiohttp import web

from actors.core.people import MACHINE_ROLES_MAX, rank
from actors.ports import Receipt
from daemon.contract import accounts as contract
from daemon.identity.tokens import Principal
from daemon.model.budgets import BudgetExceeded
from daemon.model.people.credentials import KeyNameTaken, StoredApiKey, TooManyApiKeys
from daemon.runtime.json_codec import dumps, loads
from daemon.web.bodies import page_limit, parse, read
from daemon.web.idempotency import IdempotencyKey, idempotent
from daemon.web.middleware.auth import principal_of
from daemon.web.operations import KEYED, PAGED, Operation
from daemon.web.parameters import ID
from daemon.web.problems import HttpProblem, invalid, not_found
from daemon.web.resources.pages import page_response
from daemon.web.responses import JSON, StoredResponse, from_cursor, json_response
from daemon.web.services import SERVICES


async def _replay_creation(request: web.Request, _: IdempotencyKey, receipt: Receipt) -> StoredResponse:
    """The response of an earlier request, byte for byte."""
    principal_of(request)
    kept: dict[str, Any] = loads(receipt.body)
    sealed = base64.b64decode(kept.pop("sealed"))
    secret = await request.app[SERVICES].api_keys.reveal(receipt.company_id, kept["id"], sealed)
    return _created_response({**kept, "key": secret}).as_replay()


@Operation(
    "Create an API key",
    "keys",
    contract.NewApiKey,
    201,
    contract.ApiKeyDefinition,
    headers=KEYED,
    problems=(403, 409, 507),
)
@idempotent(_replay_creation)
async def create_api_key(request: web.Request, raw: dict[str, Any], key: IdempotencyKey | None) -> StoredResponse:
    """Makes a key for a service or an agent, which never decides at a gate.

    The key is shown this once. It is sent as a bearer token. Its role is at most that of its maker.
    """
    services, principal = request.app[SERVICES], principal_of(request)
    body = await parse(request, contract.ApiKeyDefinition, raw)
    _check(request, principal, body)

    def receipt(made: StoredApiKey, sealed: bytes) -> Receipt | None:
        """Keeps the response with the key sealed."""
        if key is None:
            return None
        return key.sealed_receipt(dumps({**_key_json(made), "sealed": base64.b64encode(sealed).decode()}))

    await services.stored.store_more(principal.company_id)
    try:
        made, secret = await services.api_keys.create(body, principal, receipt)
    except KeyNameTaken:
        raise HttpProblem("already_exists", "There is a live API key of this name.") from None
    except TooManyApiKeys:
        most = services.settings.company_api_keys_max
        raise BudgetExceeded("company_api_keys", most, f"A company has at most {most} API keys.") from None
    return _created_response({**_key_json(made), "key": secret})


@Operation("List the API keys", "read", list[contract.ApiKey], query=PAGED)
async def list_api_keys(request: web.Request) -> web.Response:
    """The company's keys that were not deleted, without their secrets."""
    limit, after = page_limit(request), from_cursor(request, "api_keys", ID) or ""
    every = await request.app[SERVICES].api_keys.all(principal_of(request).company_id)
    found = [one for one in every if one.id > after]
    return await page_response(request, found, limit, "api_keys", name=lambda last: last.id, show=_key_json)


@Operation("Change an API key", "keys", contract.ApiKey, request=contract.ApiKeyTerms, problems=(403, 404, 409))
async def put_api_key(request: web.Request) -> web.Response:
    """Says which models use a key and how little it may do, in place of what was said before.

    From this answer on no daemon goes by what stood. Approvals of actions of another model are
    asked for again.
    """
    services, principal, body = request.app[SERVICES], principal_of(request), await read(request, contract.ApiKeyTerms)
    await services.stored.store_more(principal.company_id)
    changed = await services.api_keys.change(request.match_info["key_id"], body, principal)
    if changed is None:
        raise not_found()
    return json_response(_key_json(changed))


@Operation("Delete an API key", "keys", status=204, problems=(403, 404, 409))
async def delete_api_key(request: web.Request) -> web.Response:
    """Deletes a key: it counts nowhere from this answer on."""
    if not await request.app[SERVICES].api_keys.delete(request.match_info["key_id"], principal_of(request)):
        raise not_found()
    return web.Response(status=204)


def _check(request: web.Request, principal: Principal, body: contract.ApiKeyDefinition) -> None:
    """422 or 403 for a key that may do too much, 422 for one that has expired."""
    most = MACHINE_ROLES_MAX[body.kind]
    if rank(body.role) > rank(most):
        raise invalid(("/role", f"The role of a key of this kind is at most {most}."))
    if rank(body.role) > rank(principal.role):
        raise HttpProblem(
            "forbidden", "A key may not do more than its maker.", {"required": body.role, "reason": "role"}
        )
    if body.expires_at is not None and body.expires_at <= request.app[SERVICES].now():
        raise invalid(("/expires_at", "The time is past."))


def _created_response(key: dict[str, Any]) -> StoredResponse:
    return StoredResponse(201, dumps(key), {"Content-Type": JSON, "Location": f"/api-keys/{key['id']}"})


def _key_json(one: StoredApiKey) -> dict[str, Any]:
    scopes = None if one.scopes is None else contract.KeyScopes.view(one.scopes)
    return contract.ApiKey.view(one, scopes=scopes)
