"""Redaction of values of runs that have ended."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from actors.core.run import Run
from actors.ports import Receipt
from daemon.contract.retention import holds as contract
from daemon.model.retention.records import NotRedactable, RedactionMade, StoredRedaction
from daemon.model.retention.redaction import NothingThere, NotSalted, ReasonTells
from daemon.runtime.json_codec import dumps
from daemon.web.bodies import parse
from daemon.web.idempotency import IDEMPOTENCY, IdempotencyKey, idempotent
from daemon.web.middleware.auth import principal_of
from daemon.web.operations import KEYED, Operation
from daemon.web.problems import Problem, invalid
from daemon.web.resources.response_cache import RESPONSE_CACHE
from daemon.web.resources.runs import find
from daemon.web.responses import JSON, StoredResponse, replayed
from daemon.web.services import SERVICES


async def _replay(_: web.Request, __: IdempotencyKey, receipt: Receipt) -> StoredResponse:
    return replayed(receipt)


@Operation(
    "Redact values of a run",
    "retain",
    contract.MadeRedaction,
    request=contract.RedactRun,
    headers=KEYED,
    problems=(403, 404, 409, 410),
)
@idempotent(_replay)
async def redact_run(request: web.Request, raw: dict[str, Any], key: IdempotencyKey | None) -> StoredResponse:
    """Removes values of a run that has ended, and their copies in its events, for good.

    What stays verifies as before: the hash chain has salted hashes of the values. Values that were
    redacted before stay so. 409 `not_redactable` while the run goes on or is under legal hold.
    With `preview` the answer tells the places, and nothing is redacted.
    """
    body = await parse(request, contract.RedactRun, raw)
    run = await find(request)
    made = await _redacted(request, run, body)
    response = StoredResponse(200, dumps(_shown(made)), {"Content-Type": JSON})
    if key is not None and not body.preview:
        await request.app[IDEMPOTENCY].keep(key.receipt(response))
    return response


async def _redacted(request: web.Request, run: Run, body: contract.RedactRun) -> RedactionMade:
    services, principal = request.app[SERVICES], principal_of(request)
    pointers = tuple(dict.fromkeys(body.pointers))
    at = services.now().replace(microsecond=0)
    asked = StoredRedaction(run.company_id, run.id, 0, body.reason, at, principal.email, pointers)
    try:
        made = await services.store.redact(asked, principal.via, None if body.preview else services.sealer.sign)
    except NothingThere as nothing:
        place = f"/pointers/{pointers.index(nothing.pointer)}"
        raise invalid((place, str(nothing))) from None
    except ReasonTells:
        raise invalid(("/reason", "The reason says a value that is to be redacted.")) from None
    except NotSalted:
        detail = "This run was written by an earlier version, whose hash chain covers the values themselves."
        raise Problem("not_redactable", detail) from None
    except NotRedactable as refused:
        raise Problem("not_redactable", str(refused)) from None
    if body.preview:
        return made
    services.directory.forget((run.company_id, run.id))
    request.app[RESPONSE_CACHE].forget((run.company_id, run.id))
    return made


def _shown(made: RedactionMade) -> dict[str, Any]:
    places = tuple(f"/events/{one.seq}{one.path}" for one in made.places)
    return contract.MadeRedaction.view(made.redaction, places=places, left=made.left)
