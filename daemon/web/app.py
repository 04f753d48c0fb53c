"""The service as an aiohttp application."""

from __future__ import annotations

import operator
from collections import Counter
from functools import cache
from itertools import groupby, islice

from aiohttp import hdrs, web
from aiohttp.typedefs import Middleware

from daemon.runtime.fairness import FairSemaphore
from daemon.web import page
from daemon.web.clients import CLIENTS, Clients
from daemon.web.idempotency import IDEMPOTENCY, IdempotencyStore
from daemon.web.incoming import INCOMING_BODIES, BodyBuffers
from daemon.web.middleware.access_log import access_log, tracing
from daemon.web.middleware.admission import ADMISSION, Admission, admitting
from daemon.web.middleware.auth import AUTHORITY, auth, needed_by
from daemon.web.middleware.errors import errors
from daemon.web.middleware.in_flight import ANSWERS, IN_FLIGHT, Answers, InFlight
from daemon.web.middleware.occupancy import OCCUPANCY, Occupancy
from daemon.web.middleware.request_id import name_response, request_id
from daemon.web.openapi import docs_page
from daemon.web.operations import Handler
from daemon.web.problems import invalid, pointer
from daemon.web.rate_limits import RATE_LIMITS, RateLimits
from daemon.web.resources.mcp import gateway
from daemon.web.resources.mcp.calls import CALLERS
from daemon.web.resources.mcp.tools import TOOLS, ToolLists
from daemon.web.resources.pages import LISTS_AT_ONCE, LISTS_IN_TURN, LISTS_OF_A_COMPANY, REPORTS_IN_TURN
from daemon.web.resources.people import single_sign_on
from daemon.web.resources.run_json import RESPONSE_CACHE, ResponseCache
from daemon.web.routes import AAP_ROUTES, ROUTES
from daemon.web.services import SERVICES, Services
from daemon.web.sse import STREAMS, Streams

NAMED_MAX = 20
_KNOWN = {(method, path.rstrip("/")): frozenset(one.operation.query) for method, path, one in (*ROUTES, *AAP_ROUTES)}
PAGES: tuple[tuple[str, Handler], ...] = (
    ("/openapi.json", docs_page.show),
    ("/docs", docs_page.page),
    ("/auth/sso/start", single_sign_on.start),
    ("/auth/sso/callback", single_sign_on.callback),
    ("/", page.index),
    ("/assets/{name}", page.asset),
)
GATEWAY: tuple[tuple[str, str, Handler], ...] = (
    ("POST", "/mcp/{server}", gateway.post_to_server),
    ("GET", "/mcp/{server}", gateway.follow_server),
    ("DELETE", "/mcp/{server}", gateway.follow_server),
)
FORMS: tuple[tuple[str, Handler], ...] = (
    ("/auth/sso/link", single_sign_on.link),
    ("/auth/sso/command", single_sign_on.give_command),
    ("/auth/sso/backchannel-logout", single_sign_on.back_channel_logout),
)


def application(services: Services) -> web.Application:
    settings, in_flight = services.settings, InFlight()
    admission = Admission(
        settings.requests_max,
        settings.request_queue_max,
        settings.request_queue_timeout_s,
        settings.company_requests_max,
    )
    middlewares: list[Middleware] = [] if services.tracer is None else [tracing(services.tracer)]
    occupancy = Occupancy(settings.connections_max)
    middlewares += request_id, access_log(services), errors(services, in_flight, occupancy)
    middlewares += auth(services, _check_query), admitting(admission)
    app = web.Application(middlewares=middlewares, client_max_size=settings.body_bytes_max)
    app.on_response_prepare.append(name_response)
    app[SERVICES] = services
    app[CLIENTS] = Clients(settings.trusted_proxies)
    app[IN_FLIGHT] = in_flight
    app[OCCUPANCY] = occupancy
    app[ANSWERS] = Answers(settings.write_buffers_bytes_max, settings.company_response_bytes_max)
    app[LISTS_IN_TURN] = FairSemaphore(LISTS_AT_ONCE, LISTS_OF_A_COMPANY)
    app[REPORTS_IN_TURN] = FairSemaphore(LISTS_AT_ONCE)
    app[CALLERS], app[TOOLS] = {}, ToolLists()
    app[STREAMS] = Streams(settings.company_streams_max)
    app[INCOMING_BODIES] = BodyBuffers(settings.request_buffers_bytes_max, settings)
    app[ADMISSION] = admission
    app[IDEMPOTENCY] = IdempotencyStore(services.store)
    app[RESPONSE_CACHE] = ResponseCache(services.offload)
    app[AUTHORITY] = {one.handler: needed_by(one) for _, _, one in (*ROUTES, *AAP_ROUTES) if not one.operation.public}
    app[RATE_LIMITS] = RateLimits(app[CLIENTS], settings, services.rates)
    for resource in _resources():
        app.router.register_resource(resource)
    return app


@cache
def _resources() -> tuple[web.AbstractResource, ...]:
    """An aiohttp resource for each address: for a list with and without trailing slash.

    Applications share them, since making them takes longer than the rest of an application.
    """
    router = web.UrlDispatcher()
    for path, group in groupby((*ROUTES, *AAP_ROUTES), operator.itemgetter(1)):
        routes = tuple(group)
        is_list = any(endpoint.operation.is_list for _, _, endpoint in routes)
        bare = path.rstrip("/")
        for address in (f"{bare}/", bare) if is_list else (path,):
            resource = router.add_resource(address)
            for method, _, endpoint in routes:
                _add(resource, method, endpoint.handler)
    for path, handler in PAGES:
        _add(router.add_resource(path), "GET", handler)
    server = router.add_resource(GATEWAY[0][1])
    for method, _, handler in GATEWAY:
        server.add_route(method, handler, expect_handler=_expect)
    for path, handler in FORMS:
        _add(router.add_resource(path), "POST", handler)
    return tuple(router.resources())


def _add(resource: web.Resource, method: str, handler: Handler) -> None:
    for known in ("HEAD", "GET") if method == "GET" else (method,):
        resource.add_route(known, handler, expect_handler=_expect)


def _check_query(request: web.Request) -> None:
    """422 for a query parameter that the endpoint does not have, or that is given twice.

    A misspelt filter must not pass for none. Pages and documents take any.
    """
    if not request.query_string:
        return
    resource = request.match_info.route.resource
    method = hdrs.METH_GET if request.method == hdrs.METH_HEAD else request.method
    known = _KNOWN.get((method, "" if resource is None else resource.canonical.rstrip("/")))
    if known is None:
        return
    given = Counter(name for name, _ in request.query.items())
    wrong = {name: "is no parameter of this address" for name in given if name not in known}
    wrong |= {name: "is given twice" for name, times in given.items() if times > 1 and name in known}
    if wrong:
        raise invalid(*((pointer(name), why) for name, why in islice(wrong.items(), NAMED_MAX)))


async def _expect(_: web.Request) -> None:
    """Leave expectations to who reads the body; all but `100-continue` are ignored."""
