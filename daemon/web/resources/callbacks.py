"""Answers that come later to calls of connectors."""

from __future__ import annotations

from aiohttp import web

from actors.core.messages import Rejected, Settle, effect_key
from actors.ports import Asker
from daemon.connectors.http import HttpResponse
from daemon.contract import connectors as contract
from daemon.web.bodies import read_object
from daemon.web.operations import PUBLIC, Operation
from daemon.web.problems import Problem, existing, problem_of
from daemon.web.resources.run_commands import current
from daemon.web.services import SERVICES

OK = 200


@Operation("Answer a call", PUBLIC, status=204, request=contract.LaterAnswer, problems=(404, 409, 503))
async def answer_call(request: web.Request) -> web.Response:
    """Takes what a tool answers later, at the URL that came with the call as `X-Penstock-Callback`.

    The URL is the credential: it is signed, for one call of one run, and works once. The body is
    read as the response to the call would be, by the connector's rules.
    """
    services = request.app[SERVICES]
    place = existing(services.dispatcher.callbacks.place(request.match_info["token"]))
    body = await read_object(request, optional=True)
    run = existing(await current(services, (place.company_id, place.run_id)))
    visit = run.awaiting(place.step_id, place.visit)
    if visit is None or visit.request is None:
        detail = "The call was answered already, or is not waited for any more."
        raise Problem("not_awaited", detail, {"run_status": run.status})
    given = HttpResponse(OK, body, 0, size=request.content_length or services.settings.response_bytes_max)
    asker = Asker(place.company_id, effect_key(place.run_id, place.step_id, place.visit))
    answer = await services.dispatcher.read_answer(asker, visit.request.tool, given)
    message = Settle(
        step_id=place.step_id, visit=place.visit, output=answer.body, signal=answer.signal, at=services.now()
    )
    decided = await services.directory.ask((place.company_id, place.run_id), message)
    if isinstance(decided, Rejected):
        raise problem_of(decided)
    return web.Response(status=204)
