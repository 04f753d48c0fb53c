"""The service as an aiohttp application."""

from __future__ import annotations

import operator
from itertools import groupby

from aiohttp import HttpVersion11, hdrs, web
from aiohttp.typedefs import Middleware

from daemon.web import page
from daemon.web.bodies import INCOMING_BODIES, IncomingBodies
from daemon.web.clients import Clients
from daemon.web.idempotency import IDEMPOTENCY, IdempotencyStore
from daemon.web.middleware.access_log import access_log
from daemon.web.middleware.admission import ADMISSION, Admission, admitting
from daemon.web.middleware.auth import auth
from daemon.web.middleware.errors import errors
from daemon.web.middleware.in_flight import IN_FLIGHT, InFlight
from daemon.web.middleware.request_id import name_response, request_id
from daemon.web.middleware.tracing import tracing
from daemon.web.openapi import docs_page
from daemon.web.operations import Handler
from daemon.web.problems import invalid, pointer
from daemon.web.rate_limits import RATE_LIMITS, RateLimits
from daemon.web.resources.response_cache import RESPONSE_CACHE, ResponseCache
from daemon.web.routes import ROUTES
from daemon.web.services import SERVICES, Services

NAMED_MAX = 20
_KNOWN = {(method, path.rstrip("/")): frozenset(one.operation.query) for method, path, one in ROUTES}
PAGES: tuple[tuple[str, Handler], ...] = (
    ("/openapi.json", docs_page.show),
    ("/docs", docs_page.page),
    ("/", page.index),
    ("/assets/{name}", page.asset),
)


def application(services: Services) -> web.Application:
    settings, in_flight = services.settings, InFlight()
    admission = Admission(settings.requests_max, settings.request_queue_max, settings.request_queue_timeout_s)
    middlewares: list[Middleware] = [] if services.tracer is None else [tracing(services.tracer)]
    middlewares += request_id, access_log(services), errors(services, in_flight), auth(services, _check_query)
    middlewares.append(admitting(admission))
    app = web.Application(middlewares=middlewares, client_max_size=settings.body_bytes_max)
    app.on_response_prepare.append(name_response)
    app[SERVICES] = services
    app[IN_FLIGHT] = in_flight
    app[INCOMING_BODIES] = IncomingBodies(settings.request_buffers_bytes_max)
    app[ADMISSION] = admission
    app[IDEMPOTENCY] = IdempotencyStore(services.store)
    app[RESPONSE_CACHE] = ResponseCache()
    app[RATE_LIMITS] = RateLimits(Clients(settings.trusted_proxies), on=settings.rate_limits, shared=services.rates)
    _add_routes(app.router)
    return app


def _add_routes(router: web.UrlDispatcher) -> None:
    """Add an aiohttp resource for each address: for a list with and without trailing slash."""
    for path, group in groupby(ROUTES, operator.itemgetter(1)):
        routes = tuple(group)
        is_list = any(endpoint.operation.is_list for _, _, endpoint in routes)
        bare = path.rstrip("/")
        for address in (f"{bare}/", bare) if is_list else (path,):
            resource = router.add_resource(address)
            for method, _, endpoint in routes:
                _add(resource, method, endpoint.handler)
    for path, handler in PAGES:
        _add(router.add_resource(path), "GET", handler)


def _add(resource: web.Resource, method: str, handler: Handler) -> None:
    for known in ("HEAD", "GET") if method == "GET" else (method,):
        resource.add_route(known, handler, expect_handler=_expect)


def _check_query(request: web.Request) -> None:
    """422 for a query parameter that the endpoint does not have; pages and documents take any.

    A misspelt filter must not pass for none.
    """
    if not request.query_string:
        return
    resource = request.match_info.route.resource
    method = hdrs.METH_GET if request.method == hdrs.METH_HEAD else request.method
    known = _KNOWN.get((method, "" if resource is None else resource.canonical.rstrip("/")))
    unknown = [name for name in request.query if known is not None and name not in known]
    if unknown:
        names = dict.fromkeys(unknown[:NAMED_MAX])
        raise invalid(*((pointer(name), "is no parameter of this address") for name in names))


async def _expect(request: web.Request) -> None:
    """Answer `Expect: 100-continue`; other expectations are ignored (RFC 9110, 10.1.1)."""
    if request.headers["Expect"].lower() == "100-continue" and request.version >= HttpVersion11:
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.writer.output_size = 0  # of the answer nothing is sent yet
