"""Redaction of values of runs that have ended."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aiohttp import web

from actors.core.run import Run
from actors.ports import Receipt
from daemon.contract.retention import holds as contract
from daemon.model.retention.records import NotRedactable, RedactionMade, StoredRedaction
from daemon.model.retention.redaction import NoSuchValue, NotSalted, ReasonContainsValue
from daemon.runtime.json_codec import dumps
from daemon.web.bodies import parse
from daemon.web.idempotency import IdempotencyKey, idempotent, kept
from daemon.web.middleware.auth import principal_of
from daemon.web.operations import KEYED, Operation
from daemon.web.problems import Problem, invalid
from daemon.web.resources.response_cache import RESPONSE_CACHE
from daemon.web.resources.runs import find
from daemon.web.responses import JSON, StoredResponse
from daemon.web.services import SERVICES


@Operation(
    "Redact values of a run",
    "retain",
    contract.MadeRedaction,
    request=contract.RedactRun,
    headers=KEYED,
    problems=(403, 404, 409, 410),
)
@idempotent()
async def redact_run(request: web.Request, raw: dict[str, Any], key: IdempotencyKey | None) -> StoredResponse:
    """Removes values of a run that has ended, and their copies in its events, for good.

    What stays verifies as before: the hash chain has salted hashes of the values. Values that were
    redacted before stay so. 409 `not_redactable` while the run goes on or is under legal hold.
    With `preview` the answer tells the places, and nothing is redacted.
    """
    body = await parse(request, contract.RedactRun, raw)
    run = await find(request)
    return _answer(await _redacted(request, run, body, kept(key, _answer)))


async def _redacted(
    request: web.Request, run: Run, body: contract.RedactRun, receipt: Callable[[RedactionMade], Receipt | None]
) -> RedactionMade:
    services, principal = request.app[SERVICES], principal_of(request)
    pointers = tuple(dict.fromkeys(body.pointers))
    at = services.now().replace(microsecond=0)
    asked = StoredRedaction(run.company_id, run.id, 0, body.reason, at, principal.email, pointers)
    try:
        if body.preview:
            return await services.store.redact(asked, principal.via, None)
        made = await services.store.redact(asked, principal.via, services.sealer.sign, receipt)
    except NoSuchValue as nothing:
        place = f"/pointers/{pointers.index(nothing.pointer)}"
        raise invalid((place, str(nothing))) from None
    except ReasonContainsValue:
        raise invalid(("/reason", "The reason says a value that is to be redacted.")) from None
    except NotSalted:
        detail = "This run was written by an earlier version, whose hash chain covers the values themselves."
        raise Problem("not_redactable", detail) from None
    except NotRedactable as refused:
        raise Problem("not_redactable", str(refused)) from None
    services.directory.forget((run.company_id, run.id))
    request.app[RESPONSE_CACHE].forget((run.company_id, run.id))
    return made


def _answer(made: RedactionMade) -> StoredResponse:
    places = tuple(f"/events/{one.seq}{one.path}" for one in made.places)
    shown = contract.MadeRedaction.view(made.redaction, places=places, left=made.left)
    return StoredResponse(200, dumps(shown), {"Content-Type": JSON})
