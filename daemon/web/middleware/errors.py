"""Errors: each exception becomes a problem document, as does a request that a drain cuts off."""

from __future__ import annotations

import structlog
from aiohttp import HttpVersion10, HttpVersion11, web
from aiohttp.typedefs import Handler, Middleware

from actors.actor import Overloaded, Stopped
from actors.ports import StoreFailed
from daemon.web import problems
from daemon.web.middleware.access_log import REASON, path_of
from daemon.web.middleware.admission import REFUSED
from daemon.web.middleware.auth import HEALTH
from daemon.web.middleware.in_flight import InFlight
from daemon.web.middleware.occupancy import Occupancy, Use
from daemon.web.middleware.request_id import request_id_of
from daemon.web.problems import HttpProblem
from daemon.web.responses import error_response
from daemon.web.services import Services

VERSIONS = (HttpVersion11, HttpVersion10)
MALFORMED = "malformed_request"
_log = structlog.get_logger("penstock.access")


def errors(services: Services, in_flight: InFlight, occupancy: Occupancy) -> Middleware:
    @web.middleware
    async def answer_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
        deadline, transport = in_flight.begin(), request.transport
        occupancy.use(transport, Use.WORK)
        spare = occupancy.is_spare(transport)
        try:
            async with deadline:
                _check_open(services, request, spare=spare)
                _check_head(request)
                response = await handler(request)
        except ConnectionError:  # there is nobody to answer
            raise
        except Exception as error:  # noqa: BLE001 - the top of the request: everybody is answered
            problem = _cut_off(request) if deadline.expired() else problems.problem_of(error)
            if problem is None:
                _log.exception("unhandled_exception", method=request.method, path=path_of(request))
                problem = problems.unforeseen()
            if isinstance(error, StoreFailed):
                request[REASON] = str(error)
            if "Idempotency-Key" in request.headers and (services.draining() or services.store.failed):
                problem = problems.in_doubt(problem)
            if services.metrics is not None and (budget := problem.more.get("budget")) is not None:
                services.metrics.quota_exceeded(budget)
            response = _answer(request, problem)
        finally:
            in_flight.end(deadline)
            occupancy.use(transport, Use.IDLE)
        if (spare or services.draining()) and not response.prepared:
            response.force_close()
        return response

    return answer_errors


def _answer(request: web.Request, problem: HttpProblem) -> web.StreamResponse:
    response = error_response(problem, request.path, request_id_of(request)).response()
    if problem.code == MALFORMED:
        response.force_close()
    problem.__traceback__ = problem.__context__ = None  # its frames hold the body, and the problem: a ring
    return response


def _check_open(services: Services, request: web.Request, *, spare: bool) -> None:
    if request.path == HEALTH:
        return
    if services.draining():
        raise Stopped
    if spare:
        request[REFUSED] = True
        raise Overloaded


def _check_head(request: web.Request) -> None:
    """Refuse what a proxy may read otherwise than the parser has."""
    if request.version not in VERSIONS:
        raise HttpProblem(MALFORMED, "The service speaks HTTP/1.1 and HTTP/1.0.")
    coding = request.headers.get("Transfer-Encoding")
    if coding is not None and (coding.lower() != "chunked" or request.version != HttpVersion11):
        raise HttpProblem(MALFORMED, "A body is sent with its length, or in HTTP/1.1 as chunked and nothing else.")


def _cut_off(request: web.Request) -> HttpProblem:
    if request.writer.output_size:
        raise ConnectionResetError("the answer was cut off in the middle") from None
    # A request that arrived in part changes nothing; of the rest nobody knows how far it came.
    return problems.stopping("unknown" if request.content.is_eof() else "not_applied")
