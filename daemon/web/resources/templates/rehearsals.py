"""Templates that are tried before they are published."""

from __future__ import annotations

from functools import partial
from typing import Any

from aiohttp import web

from actors.core.rehearsal import Act, Lapse, RehearsedDelivery, RehearsedVerdict, rehearse
from daemon.contract import runs as contract
from daemon.web.bodies import parse, read_object
from daemon.web.incoming import evaluated
from daemon.web.middleware.auth import principal_of
from daemon.web.operations import Operation
from daemon.web.problems import Problem, invalid
from daemon.web.resources.run_json import run_json
from daemon.web.resources.templates.drafts import check, template_of, violation_json
from daemon.web.responses import json_response
from daemon.web.services import SERVICES


@Operation("Try a template", "read", contract.TriedTemplate, request=contract.TryTemplate)
async def try_template(request: web.Request) -> web.Response:
    """Lets a run of a template happen that nobody started, in shadow: nothing is called or kept.

    It goes by the acts, one after the other, as far as they are taken. A caller who decides has
    every right that a gate asks for.
    """
    services, principal = request.app[SERVICES], principal_of(request)
    body = await parse(request, contract.TryTemplate, await read_object(request))
    company = await services.identity.companies.of(principal.company_id)
    acts = tuple(_act(number, act, principal.email) for number, act in enumerate(body.acts))
    checked = await check(request, body.document)
    if checked.violations:
        found = [violation_json(one) for one in checked.violations]
        raise Problem("invalid", "The template breaks rules; none of its runs can be tried.", {"violations": found})
    about: dict[str, Any] = {"by": principal.email, "at": services.now(), "calendar": company.calendar}
    template, auto = await template_of(request, checked), body.auto_resolve
    tried = await evaluated(request, partial(rehearse, template, body.inputs, acts, auto_resolve=auto, **about))
    refused = None if tried.rejected is None else tried.rejected.detail
    return json_response({"run": run_json(tried.run), "at": tried.at, "taken": tried.taken, "refused": refused})


def _act(number: int, act: contract.Act, caller: str) -> Act:
    if act.gate is not None or act.decision is not None:
        if act.gate is None or act.decision is None:
            raise invalid((f"/acts/{number}", "names a gate and a decision, or neither"))
        said = {name: getattr(act, name) for name in ("comment", "code", "form", "inputs")}
        return RehearsedVerdict(gate=act.gate, decision=act.decision, by=act.by or caller, **said)
    if act.message is not None:
        return RehearsedDelivery(name=act.message, payload=act.payload)
    return Lapse()
