"""The API on one screen."""

from __future__ import annotations

import operator
from itertools import groupby

from aiohttp import HttpVersion11, web
from aiohttp.typedefs import Middleware

from daemon.web import docs_page, page
from daemon.web.bodies import ARRIVING, Arriving
from daemon.web.idempotency import IDEMPOTENCY, IdempotencyStore
from daemon.web.middleware.admission import ADMISSION, Admission, admitting
from daemon.web.middleware.auth import gateway
from daemon.web.middleware.query_parameters import known_parameters
from daemon.web.middleware.tracing import traced
from daemon.web.rate_limits import RATE_LIMITS, RateLimits
from daemon.web.resources import accounts, audit, connectors, events, health, runs, templates, webhooks
from daemon.web.response_cache import RESPONSE_CACHE, ResponseCache
from daemon.web.server.clients import Clients
from daemon.web.server.in_flight import IN_FLIGHT, InFlight
from daemon.web.services import SERVICES, Services

# Those under one prefix are tried in this order, so what is asked for most often stands first.
ROUTES = (
    ("POST", "/auth/register", accounts.register),
    ("POST", "/auth/login", accounts.log_in),
    ("POST", "/auth/logout", accounts.log_out),
    ("GET", "/auth/me", accounts.me),
    ("GET", "/process-templates", templates.index),
    ("GET", "/process-templates/{vertical}", templates.show),
    ("GET", "/process-templates/{vertical}/canvas", templates.canvas),
    ("GET", "/process-runs/{run_id}", runs.show),
    ("POST", "/process-runs/{run_id}/resume", runs.resume),
    ("POST", "/process-runs", runs.start),
    ("GET", "/process-runs", runs.index),
    ("POST", "/process-runs/{run_id}/cancel", runs.cancel),
    ("POST", "/process-runs/{run_id}/retry", runs.retry),
    ("GET", "/process-runs/{run_id}/events", events.index),
    ("GET", "/process-runs/{run_id}/audit", audit.run),
    ("GET", "/audit/checkpoints", audit.checkpoints),
    ("GET", "/audit/keys", audit.keys),
    ("GET", "/audit/export", audit.everything),
    ("GET", "/audit/log", audit.log),
    ("GET", "/connectors", connectors.index),
    ("GET", "/connectors/{tool_id}", connectors.show),
    ("PUT", "/connectors/{tool_id}", connectors.put),
    ("DELETE", "/connectors/{tool_id}", connectors.delete),
    ("GET", "/connectors/{tool_id}/changes", connectors.changes),
    ("POST", "/connectors/{tool_id}/test", connectors.test),
    ("GET", "/events", events.everything),
    ("POST", "/webhooks", webhooks.create),
    ("GET", "/webhooks", webhooks.index),
    ("GET", "/webhooks/{webhook_id}", webhooks.show),
    ("PUT", "/webhooks/{webhook_id}", webhooks.put),
    ("DELETE", "/webhooks/{webhook_id}", webhooks.delete),
    ("POST", "/webhooks/{webhook_id}/test", webhooks.test),
    ("GET", "/webhooks/{webhook_id}/deliveries", webhooks.deliveries),
    ("POST", "/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver", webhooks.redeliver),
    ("GET", "/health", health.health),
    ("GET", "/openapi.json", docs_page.show),
    ("GET", "/docs", docs_page.page),
    ("GET", "/", page.index),
    ("GET", "/assets/{name}", page.asset),
)
COLLECTIONS = frozenset(
    {
        "/process-templates",
        "/process-runs",
        "/process-runs/{run_id}/events",
        "/connectors",
        "/connectors/{tool_id}/changes",
        "/audit/checkpoints",
        "/audit/log",
        "/events",
        "/webhooks",
        "/webhooks/{webhook_id}/deliveries",
    }
)


def application(services: Services) -> web.Application:
    """The service as an aiohttp application; each collection answers with and without its trailing slash."""
    settings, in_flight = services.settings, InFlight()
    admission = Admission(settings.requests_max, settings.requests_waiting_max, settings.requests_wait_s)
    passed: list[Middleware] = [] if services.tracer is None else [traced(services.tracer)]
    passed += gateway(services, in_flight), admitting(admission), known_parameters
    app = web.Application(middlewares=passed, client_max_size=settings.body_bytes_max)
    app[SERVICES] = services
    app[IN_FLIGHT] = in_flight
    app[ARRIVING] = Arriving(settings.bodies_bytes_max)
    app[ADMISSION] = admission
    app[IDEMPOTENCY] = IdempotencyStore(services.store)
    app[RESPONSE_CACHE] = ResponseCache()
    app[RATE_LIMITS] = RateLimits(Clients(settings.trusted_proxies), on=settings.rate_limits, shared=services.rates)
    _listen(app.router)
    return app


def _listen(router: web.UrlDispatcher) -> None:
    """Add the routes: one resource for each address, since those under one prefix are tried one by one."""
    for path, rows in groupby(ROUTES, operator.itemgetter(1)):
        routes = tuple(rows)
        for address in (f"{path}/", path) if path in COLLECTIONS else (path,):
            resource = router.add_resource(address)
            for method, _, handler in routes:
                for known in ("HEAD", "GET") if method == "GET" else (method,):
                    resource.add_route(known, handler, expect_handler=_expect)


async def _expect(request: web.Request) -> None:
    """Let a caller who waits for it send the body; other expectations are passed over (RFC 9110, 10.1.1)."""
    if request.headers["Expect"].lower() == "100-continue" and request.version >= HttpVersion11:
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.writer.output_size = 0  # of the answer nothing is sent yet
