"""Errors: each exception becomes a problem document, as does a request that a drain cuts off."""

from __future__ import annotations

import structlog
from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from actors.actor import Stopped
from daemon.web import problems
from daemon.web.middleware.auth import HEALTH
from daemon.web.middleware.in_flight import InFlight
from daemon.web.middleware.request_id import request_id_of
from daemon.web.problems import Problem
from daemon.web.responses import problem_response
from daemon.web.services import Services

_log = structlog.get_logger("penstock.access")


def errors(services: Services, in_flight: InFlight) -> Middleware:
    @web.middleware
    async def answer_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
        deadline = in_flight.begin()
        try:
            async with deadline:
                _check_open(services, request)
                response = await handler(request)
        except ConnectionError:  # there is nobody to answer
            raise
        except Exception as error:  # noqa: BLE001 - the top of the request: everybody is answered
            problem = _cut_off(request) if deadline.expired() else problems.of(error)
            if problem is None:
                _log.exception("unhandled_exception", method=request.method, path=request.path)
                problem = problems.unforeseen()
            if "Idempotency-Key" in request.headers and (services.draining() or services.store.failed):
                problem = problems.in_doubt(problem)
            response = problem_response(problem, request_id_of(request)).response()
        finally:
            in_flight.end(deadline)
        if services.draining() and not response.prepared:
            response.force_close()
        return response

    return answer_errors


def _check_open(services: Services, request: web.Request) -> None:
    if services.draining() and request.path != HEALTH:
        raise Stopped


def _cut_off(request: web.Request) -> Problem:
    if request.writer.output_size:
        raise ConnectionResetError("the answer was cut off in the middle") from None
    # A request that arrived in part changes nothing; of the rest nobody knows how far it came.
    return problems.stopping("unknown" if request.content.is_eof() else "not_applied")
