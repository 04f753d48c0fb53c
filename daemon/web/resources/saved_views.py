"""Saved views: the searches and filters that the caller keeps, for no one else to see."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from daemon.contract import lists as contract
from daemon.model.budgets import BudgetExceeded
from daemon.model.people.accounts import VIEWS_MAX, StoredView
from daemon.web.bodies import page_limit, read
from daemon.web.middleware.auth import principal_of
from daemon.web.operations import PAGED, Operation
from daemon.web.problems import invalid, not_found, pointer
from daemon.web.resources.pages import one_of, page_response
from daemon.web.responses import from_cursor, json_response
from daemon.web.services import SERVICES


@Operation("List the saved views", "account", list[contract.SavedView], query=("list", *PAGED))
async def list_views(request: web.Request) -> web.Response:
    """The caller's saved views, by list and name."""
    principal, wanted = principal_of(request), one_of(request, "list", contract.LISTS)
    limit, after = page_limit(request), from_cursor(request, "views") or ""
    every = await request.app[SERVICES].store.views(principal.company_id, principal.user_id)
    found = [one for one in every if wanted in (None, one.list) and _place(one) > after]
    return await page_response(request, found, limit, "views", name=_place, show=_json)


@Operation("Save a view", "account", contract.SavedView, request=contract.PutView, problems=(404, 507))
async def put_view(request: web.Request) -> web.Response:
    """Keeps a search and its filters under a name; it replaces one that has the name already."""
    services, principal = request.app[SERVICES], principal_of(request)
    body = await read(request, contract.PutView)
    wanted, name = _named(request)
    if len(name) > contract.NAME_CHARS_MAX:
        raise invalid((pointer("view"), f"has to be at most {contract.NAME_CHARS_MAX} characters"))
    await services.stored.store_more(principal.company_id)
    view = StoredView(principal.company_id, principal.user_id, wanted, name, body.query, services.now())
    if not await services.store.put_view(view):
        raise BudgetExceeded("saved_views", VIEWS_MAX, f"A person has at most {VIEWS_MAX} saved views.")
    return json_response(_json(view))


@Operation("Forget a view", "account", status=204, problems=(404,))
async def delete_view(request: web.Request) -> web.Response:
    """Forgets one of the caller's saved views."""
    principal = principal_of(request)
    if not await request.app[SERVICES].store.delete_view(principal.company_id, principal.user_id, _named(request)):
        raise not_found("There is no view of this name.")
    return web.Response(status=204)


def _named(request: web.Request) -> tuple[str, str]:
    wanted = request.match_info["list"]
    if wanted not in contract.LISTS:
        raise not_found("There is no list of this name.")
    return wanted, request.match_info["view"]


def _place(one: StoredView) -> str:
    return f"{one.list} {one.name}"


def _json(one: StoredView) -> dict[str, Any]:
    return contract.SavedView.view(one)
